"""Does Adam grow along the solution that the table alone predicts? Weights before and after a run,
and three solutions of the next-token SVM against the direction of growth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.tasks import tasks_table
from ntpcompanion.linear.dynamics.adam_norm import (
    AdamWeights,
    in_support_hessian,
    oscillation_amplitude,
    predict_adam_weights,
)
from ntpcompanion.linear.dynamics.alignment import cosine_distance
from ntpcompanion.linear.dynamics.descent import Snapshot, descend
from ntpcompanion.linear.dynamics.excess_bounds import decompose_excess_loss
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.dynamics.trajectory import stability_edge
from ntpcompanion.linear.separability.compatibility import check_compatibility
from ntpcompanion.linear.svm.weighted_svm import solve_weighted_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect

Decoder = Float[np.ndarray, "V d"]

# The paper's sizes, and its learning rate.
NUM_CONTEXTS, VOCAB_SIZE, DIM, LEARNING_RATE = 50, 10, 60, 0.01

# Steps after which the decaying learning rate has fallen by a factor √2.
DECAY = 1000

# Decoders are averaged over as many consecutive steps, which cancels the oscillation; second
# moments are read every so many steps of the last two thirds.
WINDOW, EVERY = 100, 50

# The second start has entries larger by this factor.
FAR = 10

# Relative gap of the predicted weights.
TOLERANCE = 1e-4


class Adam(BaseModel):
    """The constants of Adam; ε = 1e-8, far below every √v."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    beta1: Annotated[float, Field(ge=0, lt=1)]
    beta2: Annotated[float, Field(ge=0, lt=1)]
    rate: Annotated[
        Literal["constant", "decaying"],
        Field(description="learning rate: 0.01, or 0.01 / √(1 + k/1000) in step k"),
    ]

    def learning_rate(self, step: int) -> float:
        """η in step `step`."""
        decay = step / DECAY if self.rate == "decaying" else 0.0
        return float(LEARNING_RATE / np.sqrt(1 + decay))


class Plan(experiment.Plan):
    """Adam from two starts on one random table of the paper's sizes (V = 10, m = 50, d = 60)."""

    support_size: Annotated[
        int, Field(ge=2, lt=VOCAB_SIZE, description="S_j of every context, tokens")
    ]
    adam: Adam
    steps: Annotated[int, Field(ge=1000, description="K, of each run of Adam")]
    seed: Annotated[int, Field(ge=0, description="of the table and the starts")]


class Result(experiment.Result):
    """The prediction against the run.

    P are the predicted weights (s in the chapter), r the predicted oscillation amplitude, P̂ the
    measured weights: r / √v, averaged over the last two thirds of the run, inverted. W_P, W_P̂ and
    W^mm solve the next-token SVM in the norms with weights P, P̂ and 1. Growth is W_K − W_{K/3},
    each a mean over 100 steps. The control is gradient flow from the same start, at the time at
    which its largest curvature times t is what it is for Adam.
    """

    log_time: Annotated[float, Field(description="log t of the control")]
    spread: Annotated[float, Field(description="standard deviation of log P over entries")]
    scale_error: Annotated[float, Field(description="mean of log P̂/P over entries")]
    shape_error: Annotated[float, Field(description="standard deviation of log P̂/P over entries")]
    start_error: Annotated[
        float,
        Field(description="standard deviation over entries of log P̂ from one start to the other"),
    ]
    predicted_measured: Annotated[float, Field(description="cosine of W_P with W_P̂")]
    predicted_frobenius: Annotated[float, Field(description="cosine of W_P with W^mm")]
    growth_predicted: Annotated[float, Field(description="cosine of the growth with W_P")]
    growth_measured: Annotated[float, Field(description="cosine of the growth with W_P̂")]
    growth_frobenius: Annotated[float, Field(description="cosine of the growth with W^mm")]
    growth_diagonal: Annotated[
        float, Field(description="cosine of the growth with the solution for the weights H_ii")
    ]
    growth_control: Annotated[
        float, Field(description="cosine of the growth of gradient flow with W^mm")
    ]
    position_predicted: Annotated[float, Field(description="cosine of W_K − W* with W_P")]
    position_frobenius: Annotated[float, Field(description="cosine of W_K − W* with W^mm")]
    position_control: Annotated[float, Field(description="of gradient flow, with W^mm")]
    speed: Annotated[float, Field(description="the growth along W_P, as a multiple of W_P log 3")]
    divergence: Annotated[
        float, Field(description="within supports, mean over the last 100 steps, nats")
    ]
    predicted_divergence: Annotated[float, Field(description="nats")]


@dataclass(frozen=True, eq=False)
class _Run:
    third: Decoder
    end: Decoder
    weights: Decoder
    divergence: float


def run(plan: Plan) -> Result:
    """Predict the weights, run Adam from two starts, and compare.

    Returns errors of the prediction, and cosines of growth with three solutions. Some 50 µs a step
    for each start, and some five seconds for the rest.

    Raises
    ------
    ValueError
        the random table is not separable. Take another `seed`.

    Examples
    --------
    >>> from ntpcompanion.experiments.adam import adam_limit
    >>> paper = adam_limit.Adam(beta1=0.9, beta2=0.99, rate="constant")
    >>> found = adam_limit.run(adam_limit.Plan(support_size=6, adam=paper, steps=3000, seed=0))
    >>> found.growth_predicted > found.growth_frobenius
    True
    """
    table = ContextTable.random(
        NUM_CONTEXTS,
        VOCAB_SIZE,
        plan.support_size,
        DIM,
        stream(plan.seed, f"limit table {plan.support_size}"),
    )
    predicted = predict_adam_weights(table, rng=stream(plan.seed, "solver"), tol=TOLERANCE)
    start, far = (
        factor * stream(plan.seed, name).standard_normal((VOCAB_SIZE, DIM)) / np.sqrt(DIM)
        for factor, name in ((1, "start"), (FAR, "far start"))
    )
    measured, other = _run_adam(table, plan, start), _run_adam(table, plan, far)
    ratio = np.log(measured.weights / predicted.weights)
    last_rate = plan.adam.learning_rate(plan.steps)
    return Result(
        spread=float(np.log(predicted.weights).std()),
        scale_error=float(ratio.mean()),
        shape_error=float(ratio.std()),
        start_error=float(np.log(measured.weights / other.weights).std()),
        divergence=measured.divergence,
        predicted_divergence=predicted.divergence(last_rate, plan.adam.beta1),
        **_directions(table, plan, start, predicted, measured),
    )


def measured_weights(snapshots: list[Snapshot], adam: Adam) -> Decoder:
    """P̂: the inverse mean of r / √v, with r the oscillation amplitude at each step's rate."""
    divided = [
        oscillation_amplitude(adam.learning_rate(snapshot.step), adam.beta1)
        / np.sqrt(cast(Decoder, snapshot.second_moment))
        for snapshot in snapshots
    ]
    return np.asarray(1 / np.mean(divided, axis=0))


def _run_adam(table: ContextTable, plan: Plan, start: Decoder) -> _Run:
    third, K = plan.steps // 3, plan.steps
    ends = [range(third - WINDOW + 1, third + 1), range(K - WINDOW + 1, K + 1)]
    between = range(third + EVERY, K - WINDOW, EVERY)
    snapshots = {
        snapshot.step: snapshot
        for snapshot in descend(
            table,
            optimizer="adam",
            learning_rate=plan.adam.learning_rate,
            betas=(plan.adam.beta1, plan.adam.beta2),
            steps=K,
            keep=[*ends[0], *between, *ends[1]],
            rng=stream(plan.seed, "unused"),
            start=start,
        )
    }
    means = [np.mean([snapshots[k].weights for k in window], axis=0) for window in ends]
    divergences = [decompose_excess_loss(table, snapshots[k].weights).inside for k in ends[1]]
    return _Run(
        means[0],
        means[1],
        measured_weights([snapshots[k] for k in between], plan.adam),
        float(np.mean(divergences)),
    )


def _directions(
    table: ContextTable, plan: Plan, start: Decoder, predicted: AdamWeights, measured: _Run
) -> dict[str, float]:
    """The fields of a result that compare directions, and the control's."""
    # Adam's steps are at its edge of stability, which momentum raises from 2 to this over λ_max
    raised = 2 * (1 + plan.adam.beta1) / (1 - plan.adam.beta1)
    log_time = float(np.log(stability_edge(table) / 2 * raised * plan.steps))
    flow = gradient_flow(table, [log_time - np.log(3), log_time], start=start).weights
    hessian_diagonal = np.diag(in_support_hessian(table)).reshape(start.shape)
    by_predicted, by_measured, diagonal, frobenius = (
        solve_weighted_svm(table, scale).weights
        for scale in (predicted.weights, measured.weights, hessian_diagonal, np.ones(start.shape))
    )
    growth, finite = measured.end - measured.third, check_compatibility(table).finite_part
    pairs = {
        "predicted_measured": (by_predicted, by_measured),
        "predicted_frobenius": (by_predicted, frobenius),
        "growth_predicted": (growth, by_predicted),
        "growth_measured": (growth, by_measured),
        "growth_frobenius": (growth, frobenius),
        "growth_diagonal": (growth, diagonal),
        "growth_control": (flow[1] - flow[0], frobenius),
        "position_predicted": (measured.end - finite, by_predicted),
        "position_frobenius": (measured.end - finite, frobenius),
        "position_control": (flow[1] - finite, frobenius),
    }
    length = np.vdot(by_predicted, by_predicted) * np.log(3)
    return {
        "log_time": log_time,
        "speed": float(np.vdot(growth, by_predicted) / length),
    } | {name: float(1 - cosine_distance(a[None], b)[0]) for name, (a, b) in pairs.items()}


@dataclass(frozen=True, eq=False)
class Case:
    """Runs of Adam with equal constants: a row of `table`, as in `Cases`, for each random table."""

    table: pd.DataFrame

    def mean(self, column: str) -> Effect:
        """Over the random tables."""
        return mean_effect(self.table[column])

    @property
    def beyond(self) -> Effect:
        """By how much the growth is nearer to W_P than to W^mm."""
        return paired_effect(self.table.growth_predicted, self.table.growth_frobenius)

    @property
    def behind(self) -> pd.Series:
        """Log of Adam's distance from W_P over that of gradient flow from W^mm, for each table."""
        ratio = (1 - self.table.growth_predicted) / (1 - self.table.growth_control)
        return pd.Series(np.log(ratio))

    @property
    def mean_behind(self) -> Effect:
        """Of `behind`."""
        return mean_effect(self.behind)

    @property
    def removed(self) -> Effect:
        """The fraction of Adam's distance from W_P that measured weights remove: a ratio of sums,
        with the error of its linearization.
        """
        away = 1 - self.table.growth_predicted
        gain = self.table.growth_measured - self.table.growth_predicted
        ratio = gain.sum() / away.sum()
        return mean_effect(ratio + (gain - ratio * away) / away.mean())


@dataclass(frozen=True, eq=False)
class Cases:
    """What `read_cases` returns: a `table` of plan and result for each run. `explained` is the
    fraction of the variance of log P that P̂ explains, `stall` the divergence over the predicted
    one, and `from start` the error between two starts over the spread of log P.
    """

    table: pd.DataFrame

    @property
    def by_constants(self) -> Any:
        """The runs at a constant rate, grouped by β₁ and β₂."""
        return self.table[self.table.rate == "constant"].groupby(["beta1", "beta2"])

    def case(self, beta1: float, beta2: float) -> Case:
        """The runs at a constant rate with these constants."""
        return Case(self.by_constants.get_group((beta1, beta2)))

    @property
    def decaying(self) -> Effect:
        """Cosine of the growth with W_P, with the decaying rate."""
        return mean_effect(self._decaying)

    @property
    def drift(self) -> Effect:
        """By how much it is more than with the constant rate, without momentum."""
        constant = self.case(0.0, 0.9).table.set_index("seed").growth_predicted
        return mean_effect(self._decaying - constant)

    @property
    def _decaying(self) -> pd.Series:
        return self.table[self.table.rate == "decaying"].set_index("seed").growth_predicted


def read_cases(tasks: Sequence[Run[Plan, Result]]) -> Cases:
    """Read recorded runs, with at least two random tables for each choice of constants."""
    table = tasks_table(tasks).drop(columns="result")
    table["explained"] = 1 - (table.shape_error / table.spread) ** 2
    table["stall"] = table.divergence / table.predicted_divergence
    table["from start"] = table.start_error / table.spread
    return Cases(table)
