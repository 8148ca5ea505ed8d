"""Does a map from attributes of classes adjust logits better than a free number for each class?"""

from collections.abc import Callable
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field, model_validator
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from ntpcompanion.adaptation.logit_adjustment import Adjustment, fit_adjustment
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, paired_effect

RIDGES = (1e-4, 1e-3, 1e-2)  # of the free adjustment
FOLDS = 5  # of the cross-validation that chooses one


class Plan(experiment.Plan):
    """Gaussian classes of different sizes and noise, a softmax decoder, and validation samples.

    No size in `validation` comes twice.
    """

    num_classes: Annotated[int, Field(ge=3, description="K")] = 50
    dim: Annotated[int, Field(ge=2, description="d, of the features")] = 100
    separation: Annotated[float, Field(gt=0, description="half of a typical distance of means")] = (
        4.0
    )
    smallest: Annotated[int, Field(ge=2, description="n_k of the smallest class, or larger")] = 10
    largest: Annotated[int, Field(ge=2, description="n_k of the largest class, or smaller")] = 200
    noise: Annotated[float, Field(gt=1, description="largest σ_k, one over the smallest")] = 2.0
    ridge: Annotated[float, Field(gt=0, description="of the decoder")] = 1e-3
    validation: Annotated[
        tuple[Annotated[int, Field(ge=2)], ...],
        Field(min_length=1, description="examples of each class"),
    ] = (5, 20, 100, 500)
    tested: Annotated[int, Field(ge=1, description="new examples of each class")] = 200
    seeds: Annotated[int, Field(ge=2, description="draws of classes and samples")]
    seed: Annotated[int, Field(ge=0, description="of the first")]

    @model_validator(mode="after")
    def _sizes_differ(self) -> "Plan":
        if len({*self.validation}) < len(self.validation):
            raise ValueError(f"`validation` must not repeat a size, got {list(self.validation)}.")
        return self


class Errors(experiment.Result):
    """Balanced test errors of one seed at one size of the validation sample."""

    run: int
    validation: Annotated[int, Field(description="examples of each class")]
    none: Annotated[float, Field(description="without adjustment")]
    prior: Annotated[float, Field(description="less log n_k")]
    size: Annotated[float, Field(description="map from log n_k")]
    map: Annotated[float, Field(description="map from log n_k and log σ_k")]
    shuffled: Annotated[float, Field(description="the same with attributes of other classes")]
    free: Annotated[float, Field(description="a number for each class")]
    shrunk: Annotated[float, Field(description="with a ridge, chosen by cross-validation")]
    weight_size: Annotated[float, Field(description="w of log n_k in the map over its scale")]
    weight_noise: Annotated[float, Field(description="w of log σ_k in the map over its scale")]


class Result(experiment.Result):
    """All errors."""

    errors: tuple[Errors, ...]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each seed and size."""
        return table_of(self.errors)

    def of(self, way: str) -> pd.DataFrame:
        """The errors of one way: a row for each seed, a column for each size of the sample."""
        return self.table.pivot(index="run", columns="validation", values=way)

    def behind_map(self, way: str) -> pd.DataFrame:
        """Percentage points by which one way errs more than the map, as `of`."""
        return 100 * (self.of(way) - self.of("map"))

    def gain(self, way: str, against: str, validation: int) -> Effect:
        """Percentage points by which one way errs less than another."""
        return paired_effect(100 * self.of(against)[validation], 100 * self.of(way)[validation])


def run(plan: Plan) -> Result:
    """Train decoders on unequal classes, and adjust their logits on a balanced sample.

    Returns balanced test errors. Cost 1 s for each seed at the defaults.

    Examples
    --------
    >>> from ntpcompanion.experiments import adjusted_classes
    >>> sizes = {"num_classes": 5, "dim": 10, "validation": [20], "tested": 100}
    >>> result = adjusted_classes.run(adjusted_classes.Plan(**sizes, seeds=2, seed=0))
    >>> result.of("map").shape
    (2, 1)
    """
    return Result(errors=tuple(row for s in range(plan.seeds) for row in _one(plan, s)))


def _one(plan: Plan, seed: int) -> list[Errors]:
    rng, k = stream(plan.seed, f"classes {seed}"), plan.num_classes
    centres = rng.standard_normal((k, plan.dim)) * np.sqrt(2 / plan.dim) * plan.separation
    sizes = (
        np.geomspace(plan.smallest, plan.largest, 100)[rng.integers(100, size=k)]
        .round()
        .astype(int)
    )
    noise = np.geomspace(1 / plan.noise, plan.noise, 100)[rng.integers(100, size=k)]

    def draw(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        labels = np.repeat(np.arange(k), counts)
        points = rng.standard_normal((len(labels), plan.dim))
        return centres[labels] + noise[labels, None] * points, labels

    training = draw(sizes)
    decoder, attributes = _trained(*training, plan.ridge), _attributes(*training, sizes)
    others = attributes[rng.permutation(k)]
    inputs, labels = draw(np.full(k, plan.tested))
    logits, rows = decoder(inputs), []
    for count in plan.validation:
        inputs, answers = draw(np.full(k, count))
        ways = _fitted(decoder(inputs), answers, attributes, others)
        ways["prior"] = Adjustment(1.0, np.zeros(0), -np.log(sizes))
        errors = {
            name: float((way.apply(logits).argmax(1) != labels).mean())
            for name, way in ways.items()
        }
        weights = ways["map"].coefficients / ways["map"].scale
        errors |= {"weight_size": float(weights[0]), "weight_noise": float(weights[1])}
        rows.append(Errors(run=seed, validation=count, **errors))
    return rows


def _fitted(
    logits: np.ndarray, labels: np.ndarray, attributes: np.ndarray, others: np.ndarray
) -> dict[str, Adjustment]:
    """The adjustments of a validation sample, without any as the first."""
    sample, each = (logits, labels), np.eye(logits.shape[1])
    return {
        "none": Adjustment(1.0, np.zeros(0), np.zeros(len(each))),
        "size": fit_adjustment(*sample, attributes[:, :1]),
        "map": fit_adjustment(*sample, attributes),
        "shuffled": fit_adjustment(*sample, others),
        "free": fit_adjustment(*sample, each),
        "shrunk": fit_adjustment(*sample, each, _chosen_ridge(*sample)),
    }


def _trained(
    inputs: np.ndarray, labels: np.ndarray, ridge: float
) -> Callable[[np.ndarray], np.ndarray]:
    """The logits of a softmax decoder, fitted to the unbalanced training examples."""
    penalty = 1 / (ridge * len(labels))
    fitted = LogisticRegression(C=penalty, max_iter=200, tol=1e-3).fit(inputs, labels)
    return fitted.decision_function  # type: ignore[no-any-return]  # sklearn has no types


def _attributes(inputs: np.ndarray, labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Log n_k and log σ_k (K, 2), centred; σ_k is estimated from the training examples."""
    means = np.array([inputs[labels == k].mean(0) for k in range(len(sizes))])
    squares = np.bincount(labels, ((inputs - means[labels]) ** 2).mean(1)) / (sizes - 1)
    features = np.column_stack([np.log(sizes), np.log(squares) / 2])
    return np.asarray(features - features.mean(0))


def _chosen_ridge(logits: np.ndarray, labels: np.ndarray) -> float:
    """The ridge of the least loss by cross-validation: fits leave out a fifth of the sample each,
    of every class alike, or one example of each class if there are fewer.
    """
    folds = pd.Series(labels).groupby(labels).cumcount().to_numpy() % FOLDS
    losses = [
        sum(_validated(logits, labels, folds != fold, ridge) for fold in set(folds))
        for ridge in RIDGES
    ]
    return RIDGES[int(np.argmin(losses))]


def _validated(logits: np.ndarray, labels: np.ndarray, fitted: np.ndarray, ridge: float) -> float:
    each = np.eye(logits.shape[1])
    rest = fit_adjustment(logits[fitted], labels[fitted], each, ridge).apply(logits[~fitted])
    return float(-log_softmax(rest, axis=1)[np.arange(len(rest)), labels[~fitted]].sum())
