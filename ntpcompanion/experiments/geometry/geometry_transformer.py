"""Do the features of a causal transformer have the angles that the supports predict?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from pydantic import Field, model_validator
from torch import Tensor, nn

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.geometry.angles import Angles, compare_angles
from ntpcompanion.experiments.geometry.text_table import TextTable, read_table
from ntpcompanion.experiments.thresholds.text_plan import TextPlan
from ntpcompanion.geometry.gram_matrices import GramMatrices, pair_similarity
from ntpcompanion.geometry.predictions import PredictedGrams, predicted_grams
from ntpcompanion.networks.build_network import INITIAL_DEVIATION, build_model
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.network_plan import TransformerSize
from ntpcompanion.randomness import stream, torch_stream
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect

WARMUP = 0.03  # share of the steps
REACHED = 2e-3  # excess loss (nats) below which a network has come to the floor


class Plan(TextPlan):
    """A causal transformer with a decoder of its own, trained on all contexts of a text's beginning
    at once, by Adam with decoupled weight decay and a cosine schedule.

    `heads` divides `width`, and `points` is at most `steps`.
    """

    width: Annotated[int, Field(ge=1, description="d, of the features")] = 64
    layers: Annotated[int, Field(ge=1, description="of attention and MLP")] = 2
    heads: Annotated[int, Field(ge=1, description="of attention, a divisor of the width")] = 2
    steps: Annotated[int, Field(ge=1, description="full-batch steps")]
    learning_rate: Annotated[float, Field(gt=0, description="the largest")] = 3e-3
    weight_decay: Annotated[float, Field(ge=0, description="decoupled, per learning rate")] = 1e-6
    points: Annotated[int, Field(ge=1, description="measurements on the way, evenly spaced")] = 10
    pairing: Annotated[
        Literal["text", "shuffled"],
        Field(description="whether next tokens follow the contexts of the text or random ones"),
    ] = "text"
    seed: Annotated[int, Field(ge=0, description="of the start and of the shuffle")]

    @model_validator(mode="after")
    def _heads_divide(self) -> "Plan":
        if self.width % self.heads:
            raise ValueError(f"`heads` must divide {self.width} (`width`), got {self.heads}.")
        if self.points > self.steps:
            raise ValueError(f"`points` must be at most {self.steps} (`steps`), got {self.points}.")
        return self


class Point(experiment.Result):
    """The network after some steps."""

    step: Annotated[int, Field(ge=0, description="full-batch steps taken")]
    excess: Annotated[float, Field(description="loss above the floor, nats")]
    angles: Annotated[Angles, Field(description="against those predicted")]
    other_contexts: Annotated[
        float,
        Field(description="similarity of contexts with the prediction of the other pairing"),
    ]
    other_words: Annotated[
        float, Field(description="similarity of words with the prediction for renamed words")
    ]


class Result(experiment.Result):
    """The network on its way to the floor."""

    contexts: Annotated[int, Field(ge=1, description="m, distinct contexts")]
    supports: Annotated[int, Field(ge=1, description="different supports")]
    path: Annotated[tuple[Point, ...], Field(description="from the start to the end")]
    text_sha256: Annotated[str, Field(description="hash of the whole text")]


def run(plan: Plan) -> Result:
    """Train a causal transformer to the floor of a small text and compare the Gram matrices of its
    decoder and of its last features with those predicted from the supports, as Zhao et al. (2024)
    do.

    The control gives each context the next tokens of another one. The same network then sees the
    same contexts and the same supports, paired otherwise: if the supports decide the angles, its
    features follow the new pairing, and not that of the text.

    Returns similarities from the untrained network to the trained one. Deterministic on one machine
    with one thread. Cost about 5 ms a step at 78 contexts of 2 words and width 64.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError
        As `read_table`.

    Examples
    --------
    >>> from ntpcompanion.experiments.geometry import geometry_transformer
    >>> text = {"num_words": 30, "vocab_size": 8, "context_length": 1}
    >>> size = {"width": 8, "layers": 1, "heads": 1, "steps": 20, "points": 1}
    >>> plan = geometry_transformer.Plan(**text, **size, learning_rate=0.01, seed=0)
    >>> start, end = geometry_transformer.run(plan).path
    >>> end.step, end.excess < start.excess
    (20, True)
    """
    table = read_table(plan)
    predicted = predicted_grams(table.support)
    order = stream(plan.seed, "pairing").permutation(len(table.weight))
    other = _of_the_other(predicted.solution, order, plan)
    rows = order if plan.pairing == "shuffled" else np.arange(len(order))
    tokens = torch.from_numpy(table.contexts[rows])
    network, decoder = _start(plan)
    points = [_measure(0, _features(network, tokens), decoder, table, predicted, other)]
    optimizer = torch.optim.AdamW(
        [*network.parameters(), decoder], lr=plan.learning_rate, weight_decay=plan.weight_decay
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, plan.steps))
    snapshot_steps = {round(plan.steps * part / plan.points) for part in range(1, plan.points + 1)}
    for step in range(1, plan.steps + 1):
        optimizer.zero_grad()
        _excess(_features(network, tokens) @ decoder.T, table).backward()
        optimizer.step()
        schedule.step()
        if step in snapshot_steps:
            features = _features(network, tokens)
            points.append(_measure(step, features, decoder, table, predicted, other))
    return Result(
        contexts=len(table.weight),
        supports=len(np.unique(table.support, axis=0)),
        path=tuple(points),
        text_sha256=table.text_sha256,
    )


@dataclass(frozen=True, eq=False)
class Networks:
    """What `read_networks` returns: a `table` with a row for each measurement.

    `pairs` names the pairing, the text's first. `contexts` and `words` are similarities with the
    solution of the SVM, `proxy` that of words with the proxy, and `printed` that with diagonals;
    `same` is the mean cosine of contexts with equal supports. `other` and `renamed` compare with
    predictions for the other pairing and for renamed words.
    """

    table: pd.DataFrame

    @property
    def means(self) -> pd.DataFrame:
        """Over the seeds, by pairing and step."""
        return self.table.groupby(["pairs", "step"]).mean()

    @property
    def ends(self) -> pd.DataFrame:
        """The trained networks, by pairing and seed."""
        return self.table.groupby(["pairs", "seed"]).last()

    @property
    def starts(self) -> pd.DataFrame:
        """The untrained networks, by pairing and seed."""
        return self.table.groupby(["pairs", "seed"]).first()

    def mean(self, column: str) -> Effect:
        """Of the networks trained on the text's pairs."""
        return mean_effect(self.ends.loc["text"][column])

    @property
    def untrained(self) -> Effect:
        """Similarity of words as printed, with diagonals, before training."""
        return mean_effect(self.starts.loc["text"].printed)

    @property
    def pairing(self) -> Effect:
        """By how much contexts follow the shuffled pairs that were trained, not the text's."""
        shuffled = self.ends.loc["shuffled"]
        return paired_effect(shuffled.contexts, shuffled.other)

    @property
    def over_proxy(self) -> Effect:
        """By how much the solution of the SVM predicts words better than the proxy."""
        trained = self.ends.loc["text"]
        return paired_effect(trained.words, trained.proxy)

    @property
    def numbers(self) -> dict[str, float]:
        """Means at the end and at the start, and how near to the floor the networks come."""
        ends, excess = self.ends, self.ends.excess
        reached = excess[excess < REACHED]
        return {
            **ends.loc[["text"]].mean().add_prefix("tf_"),
            **self.starts.loc[["text"]].mean().add_prefix("start_"),
            "tf_excess": reached.max(),
            "tf_worst": excess.max(),
            "tf_reached": len(reached),
            "tf_runs": len(ends),
            "tf_seeds": len(ends.loc["text"]),
        }


def read_networks(tasks: Sequence[Run[Plan, Result]]) -> Networks:
    """Read recorded runs, of equal seeds for both pairings, at least two."""
    rows = []
    for task in tasks:
        plan = task.plan
        for point in task.result.path:
            words = point.angles.words
            row = {
                "pairs": plan.pairing,
                "seed": plan.seed,
                "step": point.step,
                "excess": point.excess,
                "contexts": point.angles.contexts.solution,
                "words": words.solution,
                "proxy": words.plain,
                "printed": words.with_diagonal,
                "same": point.angles.same_mean,
                "other": point.other_contexts,
                "renamed": point.other_words,
            }
            rows.append(row)
    table = pd.DataFrame(rows)
    return Networks(table.sort_values("pairs", ascending=False, kind="stable", ignore_index=True))


def _start(plan: Plan) -> tuple[LanguageModel, nn.Parameter]:
    """The network, whose tied decoder and bias are not used, and a decoder of its own, (V, d)."""
    size = TransformerSize(plan.width, plan.layers, plan.heads)
    shape = size.for_sentences(plan.vocab_size, plan.context_length)
    network = build_model(shape, plan.seed, causal=True)
    network.bias.requires_grad_(False)
    start = torch.empty(plan.vocab_size, plan.width)
    start.normal_(0.0, INITIAL_DEVIATION, generator=torch_stream(plan.seed, "decoder"))
    return network, nn.Parameter(start)


def _rate(step: int, steps: int) -> float:
    """Share of the largest learning rate: a linear warm-up, then half a cosine."""
    return min(1.0, (step + 1) / (WARMUP * steps)) * (1 + math.cos(math.pi * step / steps)) / 2


def _features(network: LanguageModel, tokens: Tensor) -> Float[Tensor, "m d"]:
    return network.features(tokens)[:, -1]


def _excess(logits: Float[Tensor, "m V"], table: TextTable) -> Tensor:
    """CE − H in nats, as Σ π KL(p ‖ q)."""
    targets = torch.from_numpy(table.next_token).to(logits)
    weight = torch.from_numpy(table.weight).to(logits)
    floor = torch.special.entr(targets).sum(1)
    loss = -(targets * torch.log_softmax(logits, 1)).sum(1)
    return weight @ (loss - floor)


def _of_the_other(predicted: GramMatrices, order: np.ndarray, plan: Plan) -> GramMatrices:
    """The predictions for renamed words and for contexts in the other pairing."""
    names = stream(plan.seed, "names").permutation(plan.vocab_size)
    # row j saw context order[j] of the text when shuffled: the text predicts row order[j] for it
    return GramMatrices(
        predicted.words[np.ix_(names, names)], predicted.contexts[np.ix_(order, order)]
    )


def _measure(
    step: int,
    features: Tensor,
    decoder: Tensor,
    table: TextTable,
    predicted: PredictedGrams,
    other: GramMatrices,
) -> Point:
    H, W = features.detach().double(), decoder.detach().double()
    grams = GramMatrices((W @ W.T).numpy(), (H @ H.T).numpy())
    return Point(
        step=step,
        excess=float(_excess(H @ W.T, table)),
        angles=compare_angles(grams, predicted, table.support),
        other_contexts=pair_similarity(grams.contexts, other.contexts),
        other_words=pair_similarity(grams.words, other.words),
    )
