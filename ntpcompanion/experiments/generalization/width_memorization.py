"""Do wider models memorize more? Scores of random-feature models of many widths, on data some of
whose labels are flipped.
"""

from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field, model_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.generalization.memorization import memorization_scores, random_subsets
from ntpcompanion.generalization.min_norm import leave_one_out_predictions, min_norm_predictions
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect

CURVES = {"clean": "right label", "flipped": "flipped label", "test_error": "test error"}
Numbers = tuple[float, ...]


class Plan(experiment.Plan):
    """Gaussian inputs, labelled by the sign of the first coordinate, a tenth of the labels flipped;
    least squares of minimum norm on random rectified features.

    `size` is below `n`.
    """

    n: Annotated[int, Field(ge=20, description="examples of a data set")]
    dim: Annotated[int, Field(ge=2, description="of the inputs")]
    size: Annotated[int, Field(ge=10, description="examples in a random subset, below n")]
    subsets: Annotated[int, Field(ge=60, description="models of each width")]
    data_seeds: Annotated[int, Field(ge=2, description="independent data sets")]
    widths: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...],
        Field(min_length=2, description="random features, rising"),
    ]
    fresh: Annotated[int, Field(ge=10, description="test points")] = 2000
    seed: Annotated[int, Field(ge=0, description="of data, features and subsets")]

    @model_validator(mode="after")
    def _leaves_some_out(self) -> "Plan":
        if self.size >= self.n:
            raise ValueError(f"`size` must be below {self.n} (`n`), got {self.size}.")
        if list(self.widths) != sorted(set(self.widths)):
            raise ValueError(f"`widths` must rise, got {list(self.widths)}.")
        if self.peak in (0, len(self.widths) - 1):
            raise ValueError(
                f"`widths` must lie below and above {self.size} (`size`), got {list(self.widths)}."
            )
        return self

    @property
    def peak(self) -> int:
        """Which width is the nearest to the size of a subset."""
        return min(range(len(self.widths)), key=lambda i: abs(self.widths[i] - self.size))


class DataSet(experiment.Result):
    """Mean memorization scores of one data set, a number for each width, rising."""

    clean: Annotated[Numbers, Field(description="score of examples with the right label")]
    flipped: Annotated[Numbers, Field(description="score of examples with a flipped label")]
    mixed: Annotated[Numbers, Field(description="score of all examples")]
    test_error: Annotated[Numbers, Field(description="fraction of test points, mean over models")]
    squared: Annotated[
        Numbers, Field(description="squared difference of the scores from two halves of the models")
    ]
    predicted: Annotated[Numbers, Field(description="sum of the variances of these two scores")]
    below_narrowest: Annotated[
        float, Field(description="fraction of examples that the widest models memorize less")
    ]
    below_peak: Annotated[float, Field(description="the same against the width at the peak")]


class Result(experiment.Result):
    """Scores of all data sets."""

    plan: Plan
    data_sets: tuple[DataSet, ...]
    shortcut_error: Annotated[
        float, Field(description="largest difference of leave-one-out predictions and refits")
    ]

    def by_width(self, name: str) -> Float[np.ndarray, "seeds widths"]:
        """A field of the data sets that has a number for each width."""
        return np.array([getattr(data_set, name) for data_set in self.data_sets])

    @property
    def table(self) -> pd.DataFrame:
        """Means over data sets and their standard errors, a row for each width."""
        table = pd.DataFrame({"features": self.plan.widths})
        for field, name in CURVES.items():
            values = self.by_width(field)
            table[name] = values.mean(axis=0)
            table[f"{name}, stderr"] = values.std(axis=0, ddof=1) / len(values) ** 0.5
        return table

    @property
    def rises(self) -> Effect:
        """Score of right labels at the peak, less that of the narrowest models."""
        clean = self.by_width("clean")
        return paired_effect(clean[:, self.plan.peak], clean[:, 0])

    def beyond_peak(self, name: str) -> Effect:
        """Of the widest models, less that at the peak."""
        values = self.by_width(name)
        return paired_effect(values[:, -1], values[:, self.plan.peak])

    @property
    def above_test_error(self) -> Effect:
        """Mean score of all examples less test error, from the peak on."""
        wide = slice(self.plan.peak, None)
        mixed, error = (
            self.by_width(name)[:, wide].mean(axis=1) for name in ("mixed", "test_error")
        )
        return paired_effect(mixed, error)

    @property
    def below_narrowest(self) -> Effect:
        """Fraction of examples that the widest models memorize less than the narrowest."""
        return mean_effect(np.array([data_set.below_narrowest for data_set in self.data_sets]))

    @property
    def below_peak(self) -> Effect:
        """Fraction of examples that the widest models memorize less than those at the peak."""
        return mean_effect(np.array([data_set.below_peak for data_set in self.data_sets]))

    @property
    def variance_ratio(self) -> Effect:
        """Squared difference of the scores from two halves, over its prediction."""
        squared, predicted = (self.by_width(name).mean(1) for name in ("squared", "predicted"))
        return mean_effect(squared / predicted)


def run(plan: Plan) -> Result:
    """Estimate memorization scores of each example, from models trained on random subsets.

    Returns mean scores and test errors for each data set and width. Cost that of
    `min_norm_predictions` for each data set and width: 15 s for the chapter's 16 data sets with
    widths up to 3000.

    Examples
    --------
    >>> from ntpcompanion.experiments.generalization import width_memorization
    >>> sizes = {"n": 40, "dim": 4, "size": 28, "subsets": 60, "data_seeds": 3, "fresh": 50}
    >>> plan = width_memorization.Plan(**sizes, widths=(4, 28, 200), seed=0)
    >>> found = width_memorization.run(plan)
    >>> found.rises.mean > 0, found.shortcut_error < 1e-9
    (True, True)
    """
    data_sets = tuple(_data_set(plan, number) for number in range(plan.data_seeds))
    return Result(plan=plan, data_sets=data_sets, shortcut_error=_shortcut_error(plan.seed))


def _data_set(plan: Plan, number: int) -> DataSet:
    rng, n = stream(plan.seed, f"data {number}"), plan.n
    points = rng.standard_normal((n + plan.fresh, plan.dim))
    labels = np.where(points[:, 0] > 0, 1, -1)
    labels[: n // 10] *= -1  # a tenth of the examples is mislabelled,
    labels[n : n + plan.fresh // 10] *= -1  # and a tenth of the test points
    projection = rng.standard_normal((plan.dim, max(plan.widths)))
    features = np.maximum(points @ projection, 0)
    member = random_subsets(rng, plan.subsets, n, plan.size)
    correct = [  # of each width (subsets, points)
        min_norm_predictions(inputs[:n], labels[:n], member, inputs) * labels > 0
        for inputs in (features[:, :width] for width in plan.widths)
    ]
    scores = [memorization_scores(member, right[:, :n]).scores for right in correct]
    halves = [
        [memorization_scores(member[k::2], right[k::2, :n]) for k in (0, 1)] for right in correct
    ]
    return DataSet(
        clean=tuple(score[n // 10 :].mean() for score in scores),
        flipped=tuple(score[: n // 10].mean() for score in scores),
        mixed=tuple(score.mean() for score in scores),
        test_error=tuple(1 - right[:, n:].mean() for right in correct),
        squared=tuple(((a.scores - b.scores) ** 2).mean() for a, b in halves),
        predicted=tuple((a.variance + b.variance).mean() for a, b in halves),
        below_narrowest=(scores[-1] < scores[0]).mean(),
        below_peak=(scores[-1] < scores[plan.peak]).mean(),
    )


def _shortcut_error(seed: int) -> float:
    """Leave-one-out predictions against as many fits as examples, below and above interpolation."""
    rng, errors = stream(seed, "leave one out"), []
    for width in (10, 60, 400):
        points = rng.standard_normal((100, 10))
        features = np.maximum(points @ rng.standard_normal((10, width)), 0)
        targets = rng.choice([-1.0, 1.0], 100)
        fits = min_norm_predictions(features, targets, ~np.eye(100, dtype=bool), features)
        errors.append(np.abs(np.diag(fits) - leave_one_out_predictions(features, targets)).max())
    return float(max(errors))
