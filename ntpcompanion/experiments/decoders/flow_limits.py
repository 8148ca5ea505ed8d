"""Where do gradient flow, descent and the regularization path lead on a random table, how fast, and
does the proof's key inequality hold on the way?
"""

from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.linear.dynamics.alignment import (
    Alignment,
    cosine_distance,
    measure_alignment,
)
from ntpcompanion.linear.dynamics.convergence_rate import convergence_rate
from ntpcompanion.linear.dynamics.decomposed_loss import DecomposedLoss
from ntpcompanion.linear.dynamics.descent import Snapshot, descend, step_bound
from ntpcompanion.linear.dynamics.flow import Flow, gradient_flow
from ntpcompanion.linear.dynamics.flow_angle import predict_distance
from ntpcompanion.linear.dynamics.regularization_path import regularization_path
from ntpcompanion.linear.dynamics.trajectory import (
    last_decoders,
    measure_trajectory,
    stability_edge,
)
from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.svm.complementarity import complementarity_gap
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

ALPHAS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)  # of the key inequality
OF_EDGE = (0.2, 0.5, 0.9)  # step sizes over the edge of stability
COMPARED = (0.9, 1.1, 1.5, 3.0)  # those that are taken on every table
NEAR = (10.0, 20.0, 50.0, 100.0)  # norms of the ball at which W* is compared
RESTART = 1000.0  # log t at which the constant of the prediction is read
FINITE = "P_F W - W* of the flow"
Numbers = tuple[float, ...]
Columns = dict[str, Numbers]
Decoder = Float[np.ndarray, "V d"]


class Plan(experiment.Plan):
    """Random tables, and how long descent and flow go on."""

    num_contexts: Annotated[int, Field(ge=2, description="m")]
    dim: Annotated[int, Field(ge=2, description="d, no less than m")]
    vocab_size: Annotated[int, Field(ge=3, description="V, tokens")]
    support_size: Annotated[int, Field(ge=2, description="S_j of every context, tokens")]
    steps: Annotated[int, Field(ge=100, description="of gradient descent")]
    draws: Annotated[int, Field(ge=2, description="tables on which step sizes are compared")]
    last_log_time: Annotated[float, Field(ge=1e4, le=1e6, description="log t at the end")]
    num_radii: Annotated[int, Field(ge=4, description="points of the regularization path")]
    seed: Annotated[int, Field(ge=0, description="of tables and starts")]

    @property
    def log_times(self) -> Float[np.ndarray, " n"]:
        """Log t of the flow: every unit to 60, then evenly spaced in its logarithm."""
        later = np.geomspace(80, self.last_log_time, 40)
        return np.union1d(np.r_[np.arange(1.0, 61), 100, 1000], later)

    def table(self, draw: int) -> ContextTable:
        """A random table; the first one is followed."""
        sizes = self.num_contexts, self.vocab_size, self.support_size, self.dim
        return ContextTable.random(*sizes, stream(self.seed, f"table {draw}"))


class Result(experiment.Result):
    """Paths of the first table against W* and W^mm, and losses at several step sizes."""

    plan: Plan
    bound: Annotated[float, Field(description="the theorem's largest step size")]
    edge: Annotated[float, Field(description="step size at the edge of stability")]
    strictness: Annotated[float, Field(description="complementarity gap of W^mm")]
    svm_norm: Annotated[float, Field(description="‖W^mm‖")]
    flows: Annotated[
        dict[str, Columns], Field(description="by start: fields of `Alignment` at `log_times`")
    ]
    off_course: Annotated[Numbers, Field(description="‖dW/d log t − W^mm‖ / ‖W^mm‖")]
    predicted: Annotated[Numbers, Field(description="1 − cos, from its value at log t = 1000")]
    descended: Annotated[Columns, Field(description="the same of descent, and its parts")]
    ball: Annotated[Columns, Field(description="of the regularization path, beside the flow")]
    near_error: Annotated[Numbers, Field(description="‖P_F W − W*‖ at the norms `NEAR`")]
    broken: Annotated[Numbers, Field(description="last log t without the inequality; 1: none")]
    power: Annotated[float, Field(description="with which dW/d log t settles, derived")]
    turning: Annotated[Numbers, Field(description="log ‖dW/d log t − W^mm‖ at late times")]
    longer: Annotated[Numbers, Field(description="excess loss of steps below the edge (nats)")]
    excess: Annotated[
        tuple[Numbers, ...], Field(description="of each table, at the step sizes `COMPARED`")
    ]

    def flow(self, start: str = "LeCun") -> pd.DataFrame:
        """A row for each log t."""
        return pd.DataFrame({"log t": self.plan.log_times} | self.flows[start])

    def at_four(self, column: str) -> Float[np.ndarray, " 4"]:
        """A column of `descended` in four evenly spaced rows."""
        values = np.array(self.descended[column])
        return np.asarray(values[np.linspace(0, len(values) - 1, 4).astype(int)])

    @property
    def order(self) -> float:
        """Power of 1 / log t with which 1 − cos falls, from log t = 1000 on."""
        late = self.flow()[self.plan.log_times >= RESTART]
        return float(-np.polyfit(np.log(late["log t"]), np.log(late.distance), 1)[0])

    @property
    def finite_order(self) -> float:
        """Power of 1 / t with which P_F W tends to W*."""
        some = self.flow().query("20 < `log t` < 500")
        return float(-np.polyfit(some["log t"], np.log(some[FINITE]), 1)[0])

    @property
    def growth(self) -> float:
        """Growth of the part off F for each unit of log t at the end, over ‖W^mm‖."""
        last = self.flow()[["log t", "rest_norm"]].diff().iloc[-1]
        return float(last.rest_norm / last["log t"] / self.svm_norm)

    @property
    def farthest(self) -> float:
        """Largest 1 − cos at the end, of all starts."""
        return max(columns["distance"][-1] for columns in self.flows.values())

    @property
    def settled(self) -> float:
        """Largest ‖P_F W − W*‖ at log t = 30, of all starts."""
        return max(columns[FINITE][29] for columns in self.flows.values())

    @property
    def norm_growth(self) -> float:
        """The norm at log t = 1000 over that at 10."""
        norm = self.decades.norm
        return float(norm[1000] / norm[10])

    @property
    def decades(self) -> pd.DataFrame:
        """The rows of the flow at log t = 1, 10, 100 and 1000."""
        return self.flow().set_index("log t").loc[[1.0, 10.0, 100.0, 1000.0]]

    @property
    def constant(self) -> float:
        """1 − cos at the end over its prediction."""
        return self.flows["LeCun"]["distance"][-1] / self.predicted[-1]

    @property
    def turning_order(self) -> float:
        """Measured over derived power with which dW/d log t settles."""
        times = _far_times(self.power)[1:]
        return float(-np.polyfit(times, self.turning, 1)[0] / self.power)

    @property
    def key_power(self) -> float:
        """Power of 1/α with which the last log t grows at which the inequality fails."""
        small = pd.Series(self.broken, ALPHAS)[lambda broken: broken.index <= 0.1]
        return float(-np.polyfit(np.log(small.index), np.log(small), 1)[0])

    @property
    def lost(self) -> Effect:
        """Log of the least excess loss beyond the edge over that below it."""
        below, *beyond = np.transpose(self.excess)
        return mean_effect(np.log(np.min(beyond, axis=0) / below))

    @property
    def flow_error(self) -> float:
        """Largest relative distance of descent from the flow at the same time."""
        return max(self.descended["flow_error"])

    @property
    def printed(self) -> float:
        """Sum of the norms of both parts over the norm of descent, mean over its steps."""
        inner, outer, norm = (np.array(self.descended[c]) for c in ("inner", "outer", "norm"))
        return float(((inner + outer) / norm).mean())


def run(plan: Plan) -> Result:
    """Follow gradient flow from four starts, gradient descent and the regularization path on one
    random table, and descend with several step sizes on others.

    Returns distances from W* and W^mm along each path. Cost 20 s at the paper's sizes, most of it
    for the regularization path.

    Raises
    ------
    ValueError
        the table is not separable.

    Examples
    --------
    >>> from ntpcompanion.experiments import flow_limits
    >>> sizes = {"num_contexts": 4, "dim": 6, "vocab_size": 4, "support_size": 2}
    >>> long = {"steps": 100, "draws": 2, "last_log_time": 1e4, "num_radii": 4, "seed": 0}
    >>> found = flow_limits.run(flow_limits.Plan(**sizes, **long))
    >>> round(found.order, 1), found.farthest < 1e-6
    (2.0, True)
    """
    tables, rng = [plan.table(draw) for draw in range(plan.draws)], stream(plan.seed, "start 0")
    table, edges = tables[0], [stability_edge(table) for table in tables]
    solution, bound = solve_ntp_svm(table, tol=1e-12), step_bound(table)
    if (svm := solution.weights) is None:
        raise ValueError(f"The first table of `seed` {plan.seed} is not separable. Take another.")
    start, *path = descend(
        table, optimizer="gd", learning_rate=bound, steps=plan.steps, keep=30, rng=rng
    )
    W, size = start.weights, float(np.linalg.norm(svm))
    starts = {"LeCun": W, "zero": 0 * W, "10 × LeCun": 10 * W, "opposite": -3 * svm}
    flows = {name: gradient_flow(table, plan.log_times, start=W) for name, W in starts.items()}
    limits = {name: measure_alignment(table, one.weights, svm) for name, one in flows.items()}
    flow, limit, times = flows["LeCun"], limits["LeCun"], plan.log_times
    velocity = np.diff(flow.weights, axis=0) / np.diff(times)[:, None, None]
    read = flow.weights[times == RESTART][0]
    power = convergence_rate(table, solution)
    return Result(
        plan=plan,
        bound=bound,
        edge=edges[0],
        strictness=complementarity_gap(table, solution),
        svm_norm=size,
        flows={name: _columns(one, limits[name]) for name, one in flows.items()},
        off_course=tuple(np.linalg.norm(velocity - svm, axis=(1, 2)) / size),
        predicted=tuple(predict_distance(table, read, RESTART, svm, times)),
        descended=_descended(table, path, W, svm),
        ball=_ball(plan, table, flow, limit, svm),
        near_error=tuple(regularization_path(table, np.array(NEAR)).finite_error),
        broken=_broken(table, flow, limit, svm),
        power=power,
        turning=_turning(table, W, svm, power),
        longer=_longer(plan, table, edges[0], svm),
        excess=tuple(
            _excess(plan, draw, *each) for draw, each in enumerate(zip(tables, edges, strict=True))
        ),
    )


def _columns(flow: Flow, limit: Alignment) -> Columns:
    columns = {"log excess": flow.log_excess, FINITE: flow.finite_error} | vars(limit)
    return {name: tuple(values) for name, values in columns.items()}


def _descended(table: ContextTable, path: list[Snapshot], start: Decoder, svm: Decoder) -> Columns:
    """Of descent: its limits, the norms of both parts, and how far it is from the flow at the same
    time.
    """
    walk = measure_trajectory(table, path, svm)
    plain, parts = walk.weights, np.array([project_onto_F(table, W) for W in walk.weights])
    away = gradient_flow(table, np.log(walk.time), start=start).weights - plain
    norm = np.linalg.norm(plain, axis=(1, 2))
    columns = {
        "distance": walk.alignment.distance,
        "finite_error": walk.alignment.finite_error,
        "inner": np.linalg.norm(parts, axis=(1, 2)),
        "outer": np.linalg.norm(plain - parts, axis=(1, 2)),
        "norm": norm,
        "flow_error": np.linalg.norm(away, axis=(1, 2)) / norm,
    }
    return {name: tuple(values) for name, values in columns.items()}


def _ball(plan: Plan, table: ContextTable, flow: Flow, limit: Alignment, svm: Decoder) -> Columns:
    """The path at norms of the flow, where that norm is the largest so far."""
    grows = np.flatnonzero(limit.norm > np.maximum.accumulate(np.r_[0, limit.norm])[:-1])
    chosen = np.unique(grows[np.linspace(0, grows.size - 1, plan.num_radii).astype(int)])
    ball = regularization_path(table, limit.norm[chosen])
    on_path = measure_alignment(table, ball.weights, svm)
    both = zip(ball.weights, flow.weights[chosen], strict=True)
    columns = {
        "distance": on_path.distance,
        "distance_rest": on_path.distance_rest,
        "flow": limit.distance_rest[chosen],
        "between": [cosine_distance(W[None], V)[0] for W, V in both],
        "gap": ball.gap,
    }
    return {name: tuple(values) for name, values in columns.items()}


def _broken(table: ContextTable, flow: Flow, limit: Alignment, svm: Decoder) -> Numbers:
    """The last log t at which the part off F turned to W^mm, 1 + α times as long, has a larger
    loss, for each α.
    """
    loss = DecomposedLoss(table)
    toward = loss.coordinates(svm)[1] / np.linalg.norm(svm) * limit.rest_norm[:, None]
    states = [zip(flow.finite, (1 + a) * toward, flow.log_scales, strict=True) for a in ALPHAS]
    better = [[loss.log_excess(loss.point(*state)) for state in path] for path in states]
    ratios = pd.DataFrame(better, ALPHAS, flow.log_times).T.sub(flow.log_excess, axis=0)
    return tuple(ratios.apply(lambda ratio: ratio.index[ratio > 0].max()).fillna(1).astype(float))


def _far_times(power: float) -> Float[np.ndarray, " 4"]:
    """Log t at which the slowest part is left."""
    return np.linspace(6, 9, 4) / power


def _turning(table: ContextTable, start: Decoder, svm: Decoder, power: float) -> Numbers:
    times = _far_times(power)
    settled = gradient_flow(table, times, start=start, tol=1e-9).weights
    turning = np.diff(settled, axis=0) / (times[1] - times[0])
    return tuple(np.log(np.linalg.norm(turning - svm, axis=(1, 2))))


def _longer(plan: Plan, table: ContextTable, edge: float, svm: Decoder) -> Numbers:
    rng = stream(plan.seed, "start 0")
    rates = edge * np.array([step_bound(table) / edge, *OF_EDGE])
    ends = last_decoders(table, rates[rates < edge], rng=rng, steps=plan.steps)
    return tuple(measure_alignment(table, ends, svm).excess)


def _excess(plan: Plan, draw: int, table: ContextTable, edge: float) -> Numbers:
    rates, rng = np.array(COMPARED) * edge, stream(plan.seed, f"start {draw}")
    return tuple(table.excess(W) for W in last_decoders(table, rates, rng=rng, steps=plan.steps))
