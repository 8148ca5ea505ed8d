"""How fast does Adam turn to the direction that the table alone predicts? Its distance from the
predicted solution at growing times, beside that of gradient flow from its own limit.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from pydantic import BaseModel, ConfigDict, Field
from scipy.optimize import brentq

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.adam.adam_limit import (
    DIM,
    NUM_CONTEXTS,
    TOLERANCE,
    VOCAB_SIZE,
    WINDOW,
    Adam,
    measured_weights,
)
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.linear.dynamics.adam_norm import predict_adam_weights
from ntpcompanion.linear.dynamics.alignment import cosine_distance
from ntpcompanion.linear.dynamics.descent import Snapshot, descend
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.dynamics.trajectory import stability_edge
from ntpcompanion.linear.separability.compatibility import check_compatibility
from ntpcompanion.linear.svm.weighted_svm import solve_weighted_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, mean_effect, slopes_of_seeds
from ntpcompanion.statistics.power import power

Decoder = Float[np.ndarray, "V d"]

# From one point to the next the number of steps grows by √3, and growth is measured over a factor
# of 3: over two points.
RATIO, POINTS, GROWS_OVER = 3**0.5, 9, 2

# Steps from which on powers are measured, the second one in the text; and the pairs of columns that
# they relate. The window of the text is halved at a step.
WINDOWS, LATE, BEND = (3000, 9000, 27000), 9000, 46765
PAIRS = {
    "GD, in log t": ("log_time", "flow"),
    "Adam, in log t": ("log_time", "adam"),
    "GD, in its multiple": ("flow_multiple", "flow"),
    "Adam, in its multiple": ("adam_multiple", "adam"),
    "to the Frobenius solution": ("log_time", "adam_frobenius"),
}
MORE = "Adam − GD"  # in log t


class Plan(experiment.Plan):
    """Adam on one random table of the paper's sizes (V = 10, m = 50, d = 60)."""

    support_size: Annotated[
        int, Field(ge=2, lt=VOCAB_SIZE, description="S_j of every context, tokens")
    ]
    adam: Adam
    steps: Annotated[
        int, Field(ge=150 * 3**5, description="K, of Adam; the first point is at K/81")
    ]
    seed: Annotated[int, Field(ge=0, description="of the table and the start")]


class Point(BaseModel):
    """Angles, in radians, and positions after k steps. Decoders of Adam are means over 100 steps.
    In the limit a position grows like log t, and the angle falls like its inverse.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    step: Annotated[int, Field(description="k, of Adam")]
    log_time: Annotated[float, Field(description="log t of gradient flow that has come as far")]
    adam: Annotated[float, Field(description="from W_k − W* to the predicted solution")]
    adam_measured: Annotated[
        float, Field(description="from W_k − W* to the solution for the measured weights")
    ]
    adam_frobenius: Annotated[float, Field(description="from W_k − W* to W^mm")]
    flow: Annotated[float, Field(description="from W(t) − W* of gradient flow to W^mm")]
    adam_multiple: Annotated[
        float, Field(description="⟨W_k − W*, W_P⟩ / ‖W_P‖² for the predicted solution W_P")
    ]
    flow_multiple: Annotated[float, Field(description="the same of gradient flow, for W^mm")]
    adam_growth: Annotated[float, Field(description="from W_k − W_{k/3} to the predicted solution")]
    flow_growth: Annotated[float, Field(description="from W(t) − W(t/3) of the flow to W^mm")]


class Result(experiment.Result):
    """One run of Adam and gradient flow from the same start, on one table.

    The predicted solution solves the next-token SVM in the norm whose weights the table alone
    determines; the measured weights are those of the second moments at the end of the run. Time
    counts steps in units of 1 over the largest curvature in the norm of each method.
    """

    points: Annotated[tuple[Point, ...], Field(min_length=1, description="by growing k")]


def run(plan: Plan) -> Result:
    """Follow Adam and gradient flow, and measure how far each is from its limit.

    Returns angles at nine numbers of steps, from K/81 to K. Some 35 µs a step, and some three
    seconds for the rest.

    Raises
    ------
    ValueError
        the random table is not separable. Take another `seed`.

    Examples
    --------
    >>> from ntpcompanion.experiments.adam import adam_limit
    >>> from ntpcompanion.experiments.adam import adam_rate
    >>> paper = adam_limit.Adam(beta1=0.9, beta2=0.99, rate="constant")
    >>> plan = adam_rate.Plan(support_size=6, adam=paper, steps=36450, seed=0)
    >>> angles = [point.adam for point in adam_rate.run(plan).points]
    >>> len(angles), angles == sorted(angles, reverse=True)
    (9, True)
    """
    size = NUM_CONTEXTS, VOCAB_SIZE, plan.support_size, DIM
    table = ContextTable.random(*size, stream(plan.seed, f"limit table {plan.support_size}"))
    start = stream(plan.seed, "start").standard_normal((VOCAB_SIZE, DIM)) / np.sqrt(DIM)
    steps = [round(plan.steps / RATIO**back) for back in range(POINTS + GROWS_OVER)][::-1]
    windows = _run_adam(table, plan, start, steps)
    path = np.array([np.mean([snapshot.weights for snapshot in windows[k]], axis=0) for k in steps])
    last = [snapshot for k in steps[-3:] for snapshot in windows[k]]
    # Adam's steps are at its edge of stability, which momentum raises from 2 to this over λ_max
    raised = 2 * (1 + plan.adam.beta1) / (1 - plan.adam.beta1)
    log_times = np.log(stability_edge(table) / 2 * raised * np.array(steps))
    flow = gradient_flow(table, log_times, start=start).weights
    finite = check_compatibility(table).finite_part
    predicted = predict_adam_weights(table, rng=stream(plan.seed, "solver"), tol=TOLERANCE)
    by_predicted, by_measured, frobenius = (
        solve_weighted_svm(table, scale).weights
        for scale in (predicted.weights, measured_weights(last, plan.adam), np.ones(start.shape))
    )
    late = slice(GROWS_OVER, None)
    columns = {
        "step": steps[late],
        "log_time": log_times[late],
        "adam": _angles(path[late] - finite, by_predicted),
        "adam_measured": _angles(path[late] - finite, by_measured),
        "adam_frobenius": _angles(path[late] - finite, frobenius),
        "flow": _angles(flow[late] - finite, frobenius),
        "adam_multiple": _multiples(path[late] - finite, by_predicted),
        "flow_multiple": _multiples(flow[late] - finite, frobenius),
        "adam_growth": _angles(path[late] - path[:-GROWS_OVER], by_predicted),
        "flow_growth": _angles(flow[late] - flow[:-GROWS_OVER], frobenius),
    }
    rows = zip(*columns.values(), strict=True)
    return Result(points=tuple(Point(**dict(zip(columns, row, strict=True))) for row in rows))


def _run_adam(
    table: ContextTable, plan: Plan, start: Decoder, steps: list[int]
) -> dict[int, list[Snapshot]]:
    """For each of `steps`, the snapshots of as many steps up to it as cancel the oscillation."""
    ends = {k - back: k for k in steps for back in range(WINDOW)}
    windows = defaultdict(list)
    for snapshot in descend(
        table,
        optimizer="adam",
        learning_rate=plan.adam.learning_rate,
        betas=(plan.adam.beta1, plan.adam.beta2),
        steps=plan.steps,
        keep=sorted(ends),
        rng=stream(plan.seed, "unused"),
        start=start,
    ):
        windows[ends[snapshot.step]].append(snapshot)
    return dict(windows)


def _angles(decoders: Float[np.ndarray, "n V d"], limit: Decoder) -> Float[np.ndarray, " n"]:
    """In radians: twice the arc sine of half the chord, exact for small angles as well."""
    return np.asarray(2 * np.arcsin(np.sqrt(cosine_distance(decoders, limit) / 2)))


def _multiples(decoders: Float[np.ndarray, "n V d"], limit: Decoder) -> Float[np.ndarray, " n"]:
    """How many times the limit each decoder holds: its projection onto it."""
    return np.asarray(np.tensordot(decoders, limit) / np.vdot(limit, limit))


@dataclass(frozen=True, eq=False)
class Angles:
    """What `read_angles` returns: `points` with a row for each run, a column for each field of a
    `Point` and step.
    """

    points: pd.DataFrame

    @property
    def means(self) -> pd.DataFrame:
        """Over the runs, a row for each step."""
        return self.points.mean().unstack(0)

    @property
    def powers(self) -> pd.DataFrame:
        """The power with which an angle falls, a column for each of `PAIRS` and for the difference
        `MORE`; a row for each run and window of steps.
        """
        tables = {first: self._powers(self._steps >= first) for first in WINDOWS}
        table = pd.concat(tables, names=["steps from"]).reset_index("steps from")
        return table.assign(**{MORE: table["Adam, in log t"] - table["GD, in log t"]})

    def power(self, column: str) -> Effect:
        """The mean of a column of `powers`, in the window of the text."""
        return mean_effect(self.powers.query("`steps from` == @LATE")[column])

    @property
    def detectable(self) -> float:
        """The difference of powers that as many runs would show with probability 0.8."""
        more = self.power(MORE)
        study = more.sd, more.replicates
        return float(brentq(lambda x: power(*study, x, x / 1000) - 0.8, 1e-3, 1))

    @property
    def bend(self) -> Effect:
        """Relative change from the first to the second half of the window, of the rate at which
        the logarithm of Adam's angle falls with log t: 0 for a power of t.
        """
        times, logs = self.points["log_time"], self.points["adam"].apply(np.log)
        halves = (self._steps >= LATE) & (self._steps <= BEND), self._steps >= BEND
        first, second = (slopes_of_seeds(times.loc[:, h], logs.loc[:, h]) for h in halves)
        return mean_effect(second / first - 1)

    @property
    def _steps(self) -> Int[np.ndarray, " steps"]:
        return np.asarray(self.points["adam"].columns)

    def _powers(self, part: np.ndarray) -> pd.DataFrame:
        logs = self.points.apply(np.log)
        return pd.DataFrame(
            {
                name: -slopes_of_seeds(logs[x].loc[:, part], logs[y].loc[:, part])
                for name, (x, y) in PAIRS.items()
            }
        )


def read_angles(tasks: Sequence[Run[Plan, Result]]) -> Angles:
    """Read recorded runs, at least two."""
    rows = {
        task.plan.seed: table_of(task.result.points).set_index("step").unstack() for task in tasks
    }
    return Angles(pd.DataFrame(rows).T)
