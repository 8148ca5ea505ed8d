"""Where gradient flow and descent lead on tables small enough to see: one context, two contexts
whose SVM is degenerate, and three in the plane.
"""

from typing import Annotated, Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.linear.dynamics.alignment import measure_alignment
from ntpcompanion.linear.dynamics.descent import descend
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.dynamics.trajectory import measure_trajectory
from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.svm.complementarity import tilted_pair
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.svm.planar_examples import planar_tables, widest_margin
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream

TILTS = (0.0, 0.001, 0.1)
MARK = np.log(0.5 * 10_000)  # log t of ten thousand steps of descent
DIGITS = 6  # of the figure to touch

Numbers = tuple[float, ...]
Matrix = tuple[Numbers, ...]


class Plan(experiment.Plan):
    """Which three contexts are drawn, and how long descent and flow go on."""

    planes: Annotated[int, Field(ge=10, description="draws of three contexts in the plane")]
    steps: Annotated[int, Field(ge=100, description="a tenth of those of descent")]
    last_log_time: Annotated[float, Field(ge=1e4, le=1e6, description="log t at the end")]
    seed: Annotated[int, Field(ge=0, description="of the contexts and the start")]


class Result(experiment.Result):
    """Each limit, and how it is approached."""

    last_log_time: Annotated[float, Field(description="of the plan")]
    offset: Annotated[float, Field(description="one context: log t less the multiple of W^mm")]
    constant: Annotated[float, Field(description="one context: (log t)² (1 − cos), log t = 1000")]
    scaled: Annotated[Matrix, Field(description="two contexts: 2 (log t)² (1 − cos), by tilt δ")]
    contexts: Annotated[Matrix, Field(description="in the plane")]
    support: Annotated[tuple[tuple[int, ...], ...], Field(description="of each of them")]
    svm: Annotated[Matrix, Field(description="W^mm in the plane")]
    descent: Annotated[dict[str, Numbers], Field(description="`step`, and against the limits")]
    held: Annotated[tuple[Matrix, ...], Field(description="P_F W of the flow at `log_times`")]
    rest: Annotated[tuple[Matrix, ...], Field(description="W − P_F W − W^mm log t there")]
    log_excess: Annotated[Numbers, Field(description="log of the excess loss there")]
    log_finite_error: Annotated[Numbers, Field(description="log ‖P_F W − W*‖ there")]

    @property
    def log_times(self) -> Float[np.ndarray, " 61"]:
        """Of the flow in the plane."""
        return np.geomspace(1, self.last_log_time, 61)

    @property
    def two_points(self) -> pd.DataFrame:
        """2 (log t)² (1 − cos) on two contexts, a row for each log t, a column for each tilt δ."""
        index = pd.Index(_pair_times(self.last_log_time), name="$\\log t$")
        return pd.DataFrame(np.transpose(self.scaled), index, TILTS)

    @property
    def predicted(self) -> pd.DataFrame:
        """What it tends to: log² log t without tilt, else a constant."""
        columns = {tilt: (np.log(1 / tilt) / (1 + tilt)) ** 2 for tilt in TILTS[1:]}
        index = self.two_points.index
        return pd.DataFrame(columns | {0.0: np.log(index) ** 2}, index)

    @property
    def degenerate(self) -> float:
        """Measured over predicted, at the end, without tilt."""
        return float(self.two_points[0.0].iloc[-1] / self.predicted[0.0].iloc[-1])

    @property
    def order(self) -> float:
        """Power of 1 / log t with which 1 − cos falls without tilt, in the last three decades."""
        late = self.two_points[0.0].loc[lambda column: column.index >= self.last_log_time / 1000]
        return float(2 - np.polyfit(np.log(late.index), np.log(late), 1)[0])

    @property
    def walk(self) -> pd.DataFrame:
        """Descent in the plane, a row for each step: see `Alignment`."""
        table = pd.DataFrame(self.descent).astype({"step": int})
        return table.set_index("step").rename_axis("step k")

    @property
    def power(self) -> float:
        """Power of 1 / k with which the excess loss falls in the last decade of steps."""
        late = self.walk.excess.loc[lambda excess: excess.index >= excess.index[-1] // 10]
        return float(-np.polyfit(np.log(late.index), np.log(late), 1)[0])

    @property
    def by_decades(self) -> list[float]:
        """1 − cos with W^mm after a thousandth, a hundredth, a tenth and all of the steps."""
        steps = self.walk.index
        rows = np.searchsorted(steps, steps[-1] / np.array([1000, 100, 10, 1]))
        return list(self.walk.distance.iloc[rows])

    @property
    def off_limit(self) -> pd.DataFrame:
        """Both parts of the error of the flow's direction, in units of its norm, by log t."""
        held, rest, svm = map(np.array, (self.held, self.rest, self.svm))
        times = self.log_times
        norm = np.linalg.norm(held + rest + times[:, None, None] * svm, axis=(1, 2))
        unit = svm / np.linalg.norm(svm)
        slack = rest - np.tensordot(rest, unit)[:, None, None] * unit
        parts = {"in-support": held, "off-support": slack}
        columns = {name: np.linalg.norm(part, axis=(1, 2)) for name, part in parts.items()}
        return pd.DataFrame(columns, times).div(norm, axis=0)

    @property
    def touched(self) -> dict[str, object]:
        """What the script of the figure to touch draws."""
        return {
            "log_times": np.round(self.log_times, DIGITS),
            "finite": np.round(self.held, DIGITS),
            "rest": np.round(self.rest, DIGITS),
            "log_excess": np.round(self.log_excess, DIGITS),
            "log_finite_error": np.round(self.log_finite_error, DIGITS),
            "svm": self.svm,
            "contexts": self.contexts,
            "start": MARK,
            "support": self.support,
            "marked": {"log_time": MARK, "label": "10,000 steps of GD"},
        }


def run(plan: Plan) -> Result:
    """Follow gradient flow on one, two and three contexts, and gradient descent on the three with
    the widest margin of all that are drawn.

    Returns distances from the limits. Some 20 µs a step of descent, and two seconds for the rest.

    Raises
    ------
    ValueError
        none of the three contexts drawn is compatible and separable.

    Examples
    --------
    >>> from ntpcompanion.experiments import small_limits
    >>> plan = small_limits.Plan(planes=100, steps=100, last_log_time=1e4, seed=0)
    >>> found = small_limits.run(plan)
    >>> round(found.offset, 3), round(found.constant, 2)
    (0.432, 0.45)
    """
    one = ContextTable(np.ones((1, 1)), np.array([[0.75, 0.25, 0]]), np.ones(1))
    svm, late = np.asarray(solve_ntp_svm(one, tol=1e-12).weights), 1000.0
    end = gradient_flow(one, np.array([late])).weights
    plane, solved = widest_margin(planar_tables(plan.planes, stream(plan.seed, "plane")))
    return Result(
        last_log_time=plan.last_log_time,
        offset=float(late - np.vdot(end, svm) / np.vdot(svm, svm)),
        constant=float(late**2 * measure_alignment(one, end, svm).distance[0]),
        scaled=_scaled(plan.last_log_time),
        contexts=plane.embeddings.tolist(),
        support=(plane.next_token > 0).astype(int).tolist(),
        svm=np.asarray(solved.weights).tolist(),
        **_in_the_plane(plan, plane, np.asarray(solved.weights)),
    )


def _pair_times(last: float) -> Float[np.ndarray, " 60"]:
    return np.geomspace(3, last, 60)


def _scaled(last: float) -> Matrix:
    times, pairs = _pair_times(last), [tilted_pair(tilt) for tilt in TILTS]
    svm = np.asarray(solve_ntp_svm(pairs[0], tol=1e-12).weights)
    flows = (gradient_flow(pair, times, tol=1e-9).weights for pair in pairs)
    both = zip(pairs, flows, strict=True)
    distances = [measure_alignment(pair, flow, svm).distance for pair, flow in both]
    return tuple(tuple((distance * (2 * times**2)).tolist()) for distance in distances)


def _in_the_plane(plan: Plan, plane: ContextTable, svm: Float[np.ndarray, "V d"]) -> dict[str, Any]:
    rng, times = stream(plan.seed, "plane start"), np.geomspace(1, plan.last_log_time, 61)
    _, *path = descend(
        plane, optimizer="gd", learning_rate=0.5, keep=60, steps=10 * plan.steps, rng=rng
    )
    walk = measure_trajectory(plane, path, svm)
    flow = gradient_flow(plane, times, tol=1e-9)
    held = np.array([project_onto_F(plane, W) for W in flow.weights])
    columns = {"step": walk.step} | vars(walk.alignment)
    return {
        "descent": {name: tuple(column.tolist()) for name, column in columns.items()},
        "held": held.tolist(),
        "rest": (flow.weights - held - times[:, None, None] * svm).tolist(),
        "log_excess": flow.log_excess.tolist(),
        "log_finite_error": (
            np.log(np.linalg.norm(flow.finite, axis=1)) + flow.log_scales
        ).tolist(),
    }
