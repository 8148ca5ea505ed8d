"""Where should tables become separable whose supports prefer some tokens, and where do they?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.experiments.thresholds import weighted_tokens
from ntpcompanion.experiments.thresholds.crossing_limits import fit_in_inverse
from ntpcompanion.linear.tables.weighted_supports import weighted_supports
from ntpcompanion.linear.thresholds.order_parameters import saddle_threshold
from ntpcompanion.linear.thresholds.support_bounds import two_token_bound
from ntpcompanion.linear.thresholds.threshold import predicted_threshold
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, estimate, mean_effect

WEIGHTS = {
    "one frequent": (9.0, *[1.0] * 9),
    "two frequent": (16.0, 16.0, *[1.0] * 8),
    "Zipf": tuple(round(1 / rank, 10) for rank in range(1, 11)),
}
SIZES = (1, 2)  # tokens of a support
WeightedRun = Run[weighted_tokens.Plan, weighted_tokens.Result]


class Plan(experiment.Plan):
    """The numerical solution of the saddle point, for each of `WEIGHTS` and `SIZES`."""

    draws: Annotated[int, Field(ge=2, description="normal draws")]
    iterations: Annotated[int, Field(ge=1, description="of the order parameters, at most")]
    repeats: Annotated[int, Field(ge=2, description="with other normal draws")]
    seed: Annotated[int, Field(ge=0, description="of the normal draws")]


class Prediction(experiment.Result):
    """Predictions of d/m for one distribution of supports."""

    supports: Annotated[str, Field(description="weights and size")]
    alike: Annotated[float, Field(description="if tokens were alike")]
    saddle: Annotated[float, Field(description="by the saddle point, mean over repeats")]
    stderr: Annotated[float, Field(description="of `saddle`")]
    two_tokens: Annotated[float, Field(description="the bound of two tokens")]


class Result(experiment.Result):
    """A prediction for each distribution."""

    predictions: tuple[Prediction, ...]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each distribution; `predicted` is the larger of saddle point and bound."""
        table = table_of(self.predictions).set_index("supports")
        table.columns = ["if alike", "saddle", "±", "two tokens"]
        return table.assign(predicted=table[["saddle", "two tokens"]].max(axis=1))

    def compare(self, tasks: Sequence[WeightedRun]) -> "Comparison":
        """Beside recorded runs of `weighted_tokens`.

        Raises ValueError for weights other than `WEIGHTS`.
        """
        rows = sorted((_row(task) for task in tasks), key=lambda row: row["m"])
        cases, limits = self.table, {}
        for supports, points in pd.DataFrame(rows).groupby("supports", sort=False):
            fit, errors = fit_in_inverse(points.m, points.crossing, points.error)
            last = points.iloc[-1]
            limits[supports] = last.crossing, last.error, fit[1], errors[1]
        columns = [f"m = {rows[-1]['m']}", "±  ", "limit", "± "]
        measured = pd.DataFrame.from_dict(limits, orient="index", columns=columns)
        return Comparison(cases.join(measured), min(row["draws"] for row in rows))


@dataclass(frozen=True, eq=False)
class Comparison:
    """Predicted and measured thresholds.

    Fields
    ------
    table
        `Result.table` with the crossing at the largest m, its error, and the limit for large
        tables with its error.
    replicates
        draws of a run, at least.
    """

    table: pd.DataFrame
    replicates: int

    @property
    def slope(self) -> Effect:
        """How far measured limits are from those of alike tokens, per unit of the same for the
        predictions, by a line through the origin, weighted by the errors of the measured ones.
        """
        moved = self.table["predicted"] - self.table["if alike"]
        measured, weight = self.table["limit"] - self.table["if alike"], self.table["± "] ** -2
        norm = (weight * moved**2).sum()
        return estimate((weight * moved * measured).sum() / norm, norm**-0.5, self.replicates)


def run(plan: Plan) -> Result:
    """Predict the thresholds of tables whose supports prefer some tokens.

    Returns for each distribution the saddle point, the bound of two tokens, and the formula for
    tokens that are alike. Cost that of `saddle_threshold`: 20 s for 2000 draws and five repeats.

    Examples
    --------
    >>> from ntpcompanion.experiments.thresholds import unlike_tokens
    >>> plan = unlike_tokens.Plan(draws=100, iterations=3, repeats=2, seed=0)
    >>> table = unlike_tokens.run(plan).table
    >>> len(table), bool((table.predicted >= table["two tokens"]).all())
    (6, True)
    """
    return Result(predictions=tuple(_predictions(plan)))


def _predictions(plan: Plan) -> Iterator[Prediction]:
    how = {"draws": plan.draws, "iterations": plan.iterations}
    for name, weights in WEIGHTS.items():
        for size in SIZES:
            supports, distribution = f"{name}, S = {size}", weighted_supports(weights, size)
            names = (f"saddle, {supports}, {repeat}" for repeat in range(plan.repeats))
            rngs = [stream(plan.seed, name) for name in names]
            saddle = mean_effect([saddle_threshold(distribution, rng, **how).ratio for rng in rngs])
            yield Prediction(
                supports=supports,
                alike=predicted_threshold(len(weights), size),
                saddle=saddle.mean,
                stderr=saddle.stderr,
                two_tokens=two_token_bound(distribution),
            )


def _row(task: WeightedRun) -> dict[str, Any]:
    plan, result = task.plan, task.result
    names = {weights: name for name, weights in WEIGHTS.items()}
    if plan.token_weights not in names:
        raise ValueError(
            f"`tasks` must hold runs with one of `WEIGHTS`, got {list(plan.token_weights)}."
        )
    sample = result.sample(plan.num_contexts)
    return {
        "supports": f"{names[plan.token_weights]}, S = {plan.support_size}",
        "m": sample.num_contexts,
        "crossing": sample.crossing,
        "error": sample.stderr,
        "draws": len(sample.separable_from),
    }
