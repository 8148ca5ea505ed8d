"""Do sentence embeddings at equal distances from their neutral text still tell the attribute?"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float, Int
from pydantic import Field
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from ntpcompanion.adaptation.fair_embeddings import (
    common_shift_metric,
    distance_gaps,
    equalizing_metric,
    without_directions,
)
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.adaptation.paired_sentences import block_sentences
from ntpcompanion.languages.pretrained.sentence_encoder import (
    embed_sentences,
    load_sentence_encoder,
)

PROBE_WEIGHT = 100.0  # C of both probes, on embeddings of mean squared norm 1
NEIGHBOURS = 5

Vectors = Float[np.ndarray, "n d"]


class Split(experiment.Plan):
    """Blocks of contents of `paired_sentences`."""

    training: Annotated[
        tuple[Annotated[int, Field(ge=0, le=7)], ...],
        Field(min_length=1, description="blocks that maps are fitted on"),
    ]
    held_out: Annotated[int, Field(ge=0, le=7, description="the block of all measurements")]


class Plan(experiment.Plan):
    """Maps that are fitted on some contents and measured on others."""

    source: Annotated[
        str, Field(min_length=1, description="of the encoder, as in `load_sentence_encoder`")
    ] = "minilm"
    split: Split
    ridge: Annotated[float, Field(gt=0, description="of `equalizing_metric`")] = 1e-3
    directions: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...], Field(description="that projections drop")
    ] = (1, 2, 4, 6, 12)


class Measured(experiment.Result):
    """One map, on contents that it was not fitted on; `equal` for the loss, `mean` without the mean
    shift, a number without as many leading directions of the shifts.
    """

    method: str
    gap: Annotated[
        float, Field(description="mean absolute gap over mean squared distance of neutral texts")
    ]
    training_gap: Annotated[float, Field(description="the same on the training contents")]
    shift: Annotated[float, Field(description="mean squared length, over that distance")]
    probe: Annotated[
        float, Field(description="accuracy of a linear probe, trained on half of the contents")
    ]
    kernel_probe: Annotated[float, Field(description="the same with a Gaussian kernel")]
    neighbours: Annotated[
        float, Field(description="fraction of the nearest five neutral texts of other contents")
    ]


class Frame(experiment.Result):
    """A loss of one frame: what is left of the squared length of its mean shift."""

    frame: int
    predicted: Annotated[float, Field(description="by `common_shift_metric`, training contents")]
    left: Annotated[float, Field(description="of the mean shift of other contents")]


class Result(experiment.Result):
    """All maps of one split."""

    measured: tuple[Measured, ...]
    frames: tuple[Frame, ...]
    smallest: Annotated[float, Field(description="eigenvalue of the metric `equal`")]
    common: Annotated[float, Field(description="squared mean shift over mean squared shift")]
    content_along: Annotated[
        float,
        Field(description="variance of neutral texts along the mean shift over that of a mean one"),
    ]


@dataclass(frozen=True, eq=False)
class Triples:
    """Embeddings (n, d) of two variants and the neutral text, with content and frame of each."""

    first: Vectors
    second: Vectors
    neutral: Vectors
    contents: Int[np.ndarray, " n"]
    frames: Int[np.ndarray, " n"]

    @property
    def shifts(self) -> Vectors:
        """(n, d)."""
        return np.asarray(self.first - self.second)

    @property
    def asymmetries(self) -> Vectors:
        """(n, d)."""
        return np.asarray(self.first + self.second - 2 * self.neutral)


def run(plan: Plan) -> Result:
    """Fit maps to embeddings of sentences in two variants and with a neutral word, and measure on
    other contents.

    Returns the numbers of one split. Cost with MiniLM: ten seconds to embed a block, and 20 more.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError
        a block that is both; as `load_sentence_encoder`.

    Examples
    --------
    >>> from ntpcompanion.experiments import fair_minilm
    >>> split = fair_minilm.Split(training=(0,), held_out=1)
    >>> fair_minilm.run(fair_minilm.Plan(split=split)).smallest  # doctest: +SKIP
    """
    if plan.split.held_out in plan.split.training:
        raise ValueError(f"`held_out` = {plan.split.held_out} must not be a block of `training`.")
    model, tokenizer = load_sentence_encoder(plan.source)
    parts = []
    for block in (*plan.split.training, plan.split.held_out):
        texts = block_sentences(block)
        embeddings = [embed_sentences(model, tokenizer, variant) for variant in texts[:3]]
        parts.append((*embeddings, np.array(texts.contents), np.array(texts.frames)))
    training = [np.concatenate(each) for each in zip(*parts[:-1], strict=True)]
    return compare_maps(plan, Triples(*training), Triples(*parts[-1]))


def compare_maps(plan: Plan, training: Triples, tested: Triples) -> Result:
    """The measurements of `run` from embeddings."""
    equal = equalizing_metric(training.asymmetries, training.shifts, plan.ridge)
    mean = training.shifts.mean(axis=0)
    metrics = {"none": np.eye(len(mean)), "equal": equal, "mean": without_directions([mean], 1)}
    metrics |= {str(k): without_directions(training.shifts, k) for k in plan.directions}
    centred = tested.neutral.copy()
    for frame in np.unique(tested.frames):
        centred[tested.frames == frame] -= centred[tested.frames == frame].mean(axis=0)
    along = (centred @ mean) ** 2 / (mean @ mean)
    return Result(
        measured=tuple(_measure(name, each, training, tested) for name, each in metrics.items()),
        frames=tuple(_frame(plan, training, tested, f) for f in np.unique(training.frames)),
        smallest=float(np.linalg.eigvalsh(equal)[0]),
        common=float(mean @ mean / (training.shifts**2).sum(axis=1).mean()),
        content_along=float(along.mean() * len(mean) / (centred**2).sum(axis=1).mean()),
    )


def _frame(plan: Plan, training: Triples, tested: Triples, frame: np.integer) -> Frame:
    rows = training.frames == frame
    asymmetries, shifts = training.asymmetries[rows], training.shifts[rows]
    metric = equalizing_metric(asymmetries, shifts, plan.ridge)
    other = tested.shifts[tested.frames == frame].mean(axis=0)
    return Frame(
        frame=int(frame),
        predicted=common_shift_metric(asymmetries, shifts.mean(axis=0))[1],
        left=float(other @ metric @ other / (other @ other)),
    )


def _measure(method: str, metric: np.ndarray, training: Triples, tested: Triples) -> Measured:
    values, vectors = np.linalg.eigh(metric)
    root = (vectors * values.clip(0) ** 0.5) @ vectors.T
    first, second, neutral = (each @ root for each in (tested.first, tested.second, tested.neutral))
    embedded = (first, second, tested.contents)
    unit = 2 * neutral.var(axis=0).sum()  # mean squared distance of two neutral texts
    gaps = np.abs(distance_gaps(tested.asymmetries, tested.shifts, metric)).mean()
    seen = np.abs(distance_gaps(training.asymmetries, training.shifts, metric)).mean()
    old, new = (nearest(texts, tested.contents) for texts in (tested.neutral, neutral))
    same = [len({*a} & {*b}) / NEIGHBOURS for a, b in zip(old, new, strict=True)]
    return Measured(
        method=method,
        gap=float(gaps / unit),
        training_gap=float(seen / (2 * (training.neutral @ root).var(axis=0).sum())),
        shift=float(((first - second) ** 2).sum(axis=1).mean() / unit),
        probe=probe_accuracy(LogisticRegression(C=PROBE_WEIGHT, max_iter=5000), *embedded),
        kernel_probe=probe_accuracy(SVC(C=PROBE_WEIGHT), *embedded),
        neighbours=float(np.mean(same)),
    )


def probe_accuracy(
    probe: Any, first: Vectors, second: Vectors, contents: Int[np.ndarray, " n"]
) -> float:
    """How often a classifier of scikit-learn tells first from second variants of the contents in
    the upper half, trained on those in the lower half.
    """
    lower = contents < np.median(contents)
    points = np.concatenate([first, second])
    labels, trained = np.repeat([1, 0], len(first)), np.tile(lower, 2)
    centred = points - points[trained].mean(axis=0)
    scaled = centred / (centred[trained] ** 2).sum(axis=1).mean() ** 0.5
    probe.fit(scaled[trained], labels[trained])
    return float(probe.score(scaled[~trained], labels[~trained]))


def nearest(texts: Vectors, contents: Int[np.ndarray, " n"]) -> Int[np.ndarray, "n k"]:
    """The nearest texts of other contents, k = NEIGHBOURS."""
    squares = (texts**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * texts @ texts.T
    distances[contents[:, None] == contents] = np.inf
    return np.argsort(distances, axis=1)[:, :NEIGHBOURS]
