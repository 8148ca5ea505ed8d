"""Gradient descent, its normalized form and Adam from one start on random tables: how each comes
near the max-margin decoder, step by step.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field
from scipy.special import entr

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.linear.dynamics.descent import descend
from ntpcompanion.linear.dynamics.late_time_direction import compare_growth
from ntpcompanion.linear.dynamics.trajectory import (
    Trajectory,
    measure_trajectory,
    stability_edge,
)
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import (
    Effect,
    mean_effect,
    paired_effect,
    slope_within_seeds,
)

# The paper's optimizers and their learning rates.
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "GD": {"optimizer": "gd", "learning_rate": 0.5},
    "NGD": {"optimizer": "ngd", "learning_rate": 0.01},
    "Adam": {"optimizer": "adam", "learning_rate": 0.01, "betas": (0.9, 0.99)},
}
NO_ADAM = ("GD", "NGD")
ONE_HOT, CONTROLS = 5, 6  # at most so many tables with one-hot supports, and with gradient flow
Kind = Literal["several", "one-hot", "long"]
# What is proved of the rates: of the excess loss and of the angle; None: no angle is shown.
RATES: tuple[tuple[Kind, str, str, str, str | None], ...] = (
    ("several", "several tokens", "GD", "–", "0"),
    ("several", "several tokens", "NGD", "–", "–"),
    ("several", "several tokens", "Adam", "–", None),
    ("one-hot", "one-hot", "GD", "1", "0"),
    ("one-hot", "one-hot", "NGD", "–", "1/2 (margin)"),
)
LAWS = 400, 50, 6  # tables, contexts, tokens of `random_table_floors`
SAMPLES = 100  # next tokens of a context that are counted, 5000 for a table


class Plan(experiment.Plan):
    """Sizes of the tables, and how long each optimizer runs."""

    num_contexts: Annotated[int, Field(ge=2, description="m")]
    dim: Annotated[int, Field(ge=2, description="d; below m a table may not be separable")]
    vocab_size: Annotated[int, Field(ge=3, description="V, tokens")]
    support_size: Annotated[int, Field(ge=2, description="S_j of every context, tokens")]
    steps: Annotated[int, Field(ge=100, description="of every optimizer")]
    long_steps: Annotated[int, Field(ge=100, description="of GD and NGD on the first table")]
    draws: Annotated[int, Field(ge=2, description="random tables")]
    seed: Annotated[int, Field(ge=0, description="of the tables and starts")]


class Point(experiment.Result):
    """One decoder W_k on its way."""

    kind: Annotated[
        Kind, Field(description="supports of S_j tokens or of one; long: S_j tokens, `long_steps`")
    ]
    draw: Annotated[int, Field(description="of the table, from 0")]
    name: Annotated[str, Field(description="of the optimizer")]
    step: Annotated[int, Field(description="k")]
    excess: Annotated[float, Field(description="CE(W_k) − H, nats")]
    norm: Annotated[float, Field(description="‖W_k‖")]
    distance_rest: Annotated[float, Field(description="1 − cosine of W_k − W* with W^mm")]
    finite_error: Annotated[float, Field(description="‖P_F W_k − W*‖")]
    of_edge: Annotated[
        float | None,
        Field(
            description="effective step size of GD and NGD over the edge of stability, where "
            "supports are of several tokens"
        ),
    ]


class Growth(experiment.Result):
    """W_k between a third of the steps and the last, beside gradient flow as far along W^mm."""

    draw: Annotated[int, Field(description="of the table, from 0")]
    name: Annotated[str, Field(description="of the optimizer")]
    cosine: Annotated[float, Field(description="of the growth with W^mm")]
    flow: Annotated[float, Field(description="the same of gradient flow")]


class Result(experiment.Result):
    """All runs, and in which direction each grew."""

    points: tuple[Point, ...]
    growths: Annotated[tuple[Growth, ...], Field(description="on the first tables")]
    one_context: Annotated[
        float, Field(description="step size over the gradient, NGD on one context, at the end")
    ]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each decoder."""
        return table_of(self.points)

    def first(self, quantity: str, kind: Kind = "several") -> pd.DataFrame:
        """A quantity on the first table: a row for each step from 1 on, a column for each
        optimizer.
        """
        table = self._after_start(kind)
        return _by_optimizer(table[table.draw == 0], "step k", quantity)

    def last(self, quantity: str) -> pd.DataFrame:
        """A quantity at the last step: a row for each table, a column for each optimizer."""
        table = self._after_start("several")
        return _by_optimizer(table[table["step k"] == table["step k"].max()], "draw", quantity)

    @property
    def finite_left(self) -> Effect:
        """The part of the error inside F that is left at the end, of the slowest optimizer."""
        table = self.table
        start = table[(table.kind == "several") & (table.step == 0)]
        before = _by_optimizer(start, "draw", "finite_error")
        return mean_effect((self.last("finite_error") / before).max(axis=1))

    @property
    def growth(self) -> pd.DataFrame:
        """Of each optimizer 1 − cosine of its growth, its `error` over tables, and the flow's."""
        by_name = table_of(self.growths).groupby("name", sort=False)
        means = 1 - by_name[["cosine", "flow"]].mean()
        columns = {"cosine": "optimizer", "flow": "gradient flow"}
        return means.rename(columns=columns).assign(error=by_name.cosine.sem())

    @property
    def behind(self) -> pd.DataFrame:
        """Cosine of the flow's growth less that of the optimizer's: a row for each table."""
        table = table_of(self.growths)
        return _by_optimizer(table.assign(behind=table.flow - table.cosine), "draw", "behind")

    @property
    def adam_behind(self) -> Effect:
        """How much farther the growth of Adam is from W^mm than the flow's, in cosines."""
        return mean_effect(self.behind["Adam"])

    @property
    def own_flow(self) -> Effect:
        """How far the growth of GD and NGD is from the flow's, the farther of both."""
        return mean_effect(self.behind[["GD", "NGD"]].abs().max(axis=1))

    def faster(self, name: str, other: str) -> Effect:
        """Cosine of an optimizer's W_k − W* with W^mm at the last step, less that of another."""
        cosine = self.last("cosine_rest")
        return paired_effect(cosine[name], cosine[other])

    @property
    def slowest(self) -> Effect:
        """The smallest such cosine."""
        return mean_effect(self.last("cosine_rest").min(axis=1))

    @property
    def lower(self) -> Effect:
        """Log of the excess loss of NGD over that of Adam, at the last step."""
        excess = self.last("excess")
        return mean_effect(np.log(excess.NGD / excess.Adam))

    @property
    def farther(self) -> int:
        """Tables on which Adam ends farther from W^mm than NGD."""
        cosine = self.last("cosine_rest")
        return int((cosine.Adam < cosine.NGD).sum())

    @property
    def at_edge(self) -> Effect:
        """The effective step size of NGD over the edge of stability, at the last step."""
        return mean_effect(self.last("of_edge").NGD)

    @property
    def rate_curves(self) -> pd.DataFrame:
        """All geometric means from which rates are read, side by side."""
        names = {"excess loss": "excess", "angle": "angle"}
        kinds: tuple[Kind, ...] = ("several", "one-hot")
        curves = {(k, name): self.means(k, column) for k in kinds for name, column in names.items()}
        return pd.concat(curves, axis=1).reset_index()

    def means(self, kind: Kind, quantity: str) -> pd.DataFrame:
        """Geometric means of an `excess` or `angle` over tables, a row for each step from 1 on."""
        logs = {name: values.mean() for name, values in self._logs(kind, quantity).items()}
        return pd.DataFrame(logs).apply(np.exp)

    def rate(self, kind: Kind, name: str, quantity: str) -> Effect:
        """The power of 1/k with which an `excess` or `angle` falls in the last decade of steps."""
        values = self._logs(kind, quantity)[name]
        steps = values.columns.to_numpy(float)
        late = steps >= steps[-1] / 10
        x = np.tile(np.log(steps[late]), (len(values), 1))
        return slope_within_seeds(x, -values.to_numpy()[:, late])

    @property
    def rate_table(self) -> pd.DataFrame:
        """The 95 % interval of every rate in words, beside what bounds it."""
        rows = [
            {
                "supports": supports,
                "optimizer": name,
                "excess loss": self._interval(kind, name, "excess"),
                "excess loss, bound": bound,
                "angle": "–" if angle is None else self._interval(kind, name, "angle"),
                "angle, bound": angle or "–",
            }
            for kind, supports, name, bound, angle in RATES
        ]
        return pd.DataFrame(rows)

    def _interval(self, kind: Kind, name: str, quantity: str) -> str:
        return "{:.3g} to {:.3g}".format(*self.rate(kind, name, quantity).interval)

    def _logs(self, kind: Kind, quantity: str) -> dict[str, pd.DataFrame]:
        """Of each optimizer a row for each table, a column for each step from 1 on."""
        table = self._after_start(kind)
        return {
            str(name): part.pivot(index="draw", columns="step k", values=quantity).apply(np.log)
            for name, part in table.groupby("name", sort=False)
        }

    def _after_start(self, kind: Kind) -> pd.DataFrame:
        table = self.table
        table = table[(table.kind == kind) & (table.step > 0)].rename(columns={"step": "step k"})
        return table.assign(
            angle=np.sqrt(2 * table.distance_rest), cosine_rest=1 - table.distance_rest
        )


def run(plan: Plan) -> Result:
    """Run every optimizer on every table from the start that `descend` draws.

    Returns losses and distances from the limits at some sixty steps of each run, and growths. Some
    20 µs a step at the paper's sizes, m = 50, d = 60, V = 10.

    Raises
    ------
    ValueError
        a random table is not separable. Take another `seed`, or a larger `dim`.

    Examples
    --------
    >>> from ntpcompanion.experiments import three_optimizers
    >>> sizes = {"num_contexts": 4, "dim": 6, "vocab_size": 4, "support_size": 2}
    >>> plan = three_optimizers.Plan(**sizes, steps=300, long_steps=300, draws=2, seed=0)
    >>> found = three_optimizers.run(plan)
    >>> found.rate("several", "GD", "excess").mean > 0, list(found.behind)
    (True, ['GD', 'NGD', 'Adam'])
    """
    points, growths = [], []
    for draw in range(plan.draws):
        one = _OneTable.drawn(plan, draw)
        paths = {name: one.follow(name, plan.steps) for name in OPTIMIZERS}
        points += one.points("several", paths)
        growths += one.growths(paths) if draw < CONTROLS else []
        if draw == 0:
            longer = {name: one.follow(name, plan.long_steps, keep=40) for name in NO_ADAM}
            points += one.points("long", longer)
    for draw in range(min(plan.draws, ONE_HOT)):
        one = _OneTable.drawn(plan, draw, one_hot=True)
        points += one.points("one-hot", {name: one.follow(name, plan.steps) for name in NO_ADAM})
    return Result(points=tuple(points), growths=tuple(growths), one_context=_one_context(plan))


def random_table_floors(seed: int) -> dict[str, Effect]:
    """The floor of random tables of 50 contexts and supports of 6, for three laws of the next
    token: flat on the simplex, the same as it is counted in 5000 samples, and uniforms over their
    sum.
    """
    rng = stream(seed, "entropies")
    flat, raw = rng.dirichlet(np.ones(LAWS[2]), LAWS[:2]), rng.random(LAWS)
    laws = {
        "flat": flat,
        "counted": rng.multinomial(SAMPLES, flat) / SAMPLES,
        "uniforms": raw / raw.sum(axis=2, keepdims=True),
    }
    return {law: mean_effect(entr(p).sum(axis=2).mean(axis=1)) for law, p in laws.items()}


def _one_context(plan: Plan) -> float:
    """With two tokens of three, (3/4, 1/4)."""
    one = ContextTable(np.ones((1, 1)), np.array([[0.75, 0.25, 0]]), np.ones(1))
    keep: dict[str, Any] = {
        "steps": plan.steps,
        "keep": [plan.steps],
        "rng": stream(plan.seed, "one context"),
    }
    *_, after = descend(one, **OPTIMIZERS["NGD"], **keep)
    return float(OPTIMIZERS["NGD"]["learning_rate"] / np.linalg.norm(one.gradient(after.weights)))


@dataclass(frozen=True, eq=False)
class _OneTable:
    table: ContextTable
    w_mm: Float[np.ndarray, "V d"]
    edge: float | None
    draw: int
    seed: int

    @classmethod
    def drawn(cls, plan: Plan, draw: int, *, one_hot: bool = False) -> "_OneTable":
        size = 1 if one_hot else plan.support_size
        rng = stream(plan.seed, f"{'one-hot' if one_hot else 'table'} {draw}")
        table = ContextTable.random(plan.num_contexts, plan.vocab_size, size, plan.dim, rng)
        if (w_mm := solve_ntp_svm(table, tol=1e-12).weights) is None:
            raise ValueError(
                f"Table {draw} of `seed` {plan.seed} is not separable. Take another seed."
            )
        return cls(table, w_mm, None if one_hot else stability_edge(table), draw, plan.seed)

    @property
    def _rng(self) -> np.random.Generator:
        return stream(self.seed, f"start {self.draw}")

    def follow(self, name: str, steps: int, keep: int = 60) -> Trajectory:
        path = descend(self.table, steps=steps, keep=keep, rng=self._rng, **OPTIMIZERS[name])
        return measure_trajectory(self.table, path, self.w_mm)

    def points(self, kind: Kind, paths: dict[str, Trajectory]) -> list[Point]:
        fields = "excess", "norm", "distance_rest", "finite_error"
        return [
            Point(
                kind=kind,
                draw=self.draw,
                name=name,
                step=int(path.step[i]),
                of_edge=self._of_edge(name, path.weights[i]),
                **{field: float(getattr(path.alignment, field)[i]) for field in fields},
            )
            for name, path in paths.items()
            for i in range(len(path.step))
        ]

    def _of_edge(self, name: str, weights: Float[np.ndarray, "V d"]) -> float | None:
        if self.edge is None or name not in NO_ADAM:
            return None
        steepness = np.linalg.norm(self.table.gradient(weights)) if name == "NGD" else 1.0
        return float(OPTIMIZERS[name]["learning_rate"] / steepness / self.edge)

    def growths(self, paths: dict[str, Trajectory]) -> list[Growth]:
        first, last = (
            [
                path.weights[np.searchsorted(path.step, path.step[-1] / part)]
                for path in paths.values()
            ]
            for part in (3, 1)
        )
        start = next(iter(paths.values())).weights[0]
        grown = compare_growth(self.table, first, last, self.w_mm, start=start)
        return [
            Growth(draw=self.draw, name=name, cosine=cosine, flow=flow)
            for name, cosine, flow in zip(paths, grown.cosine, grown.flow_cosine, strict=True)
        ]


def _by_optimizer(table: pd.DataFrame, index: str, quantity: str) -> pd.DataFrame:
    """A column for each optimizer, in their order."""
    columns = table.pivot(index=index, columns="name", values=quantity)
    return columns[[name for name in OPTIMIZERS if name in columns]]
