"""Does steepest descent in a norm maximize the margin in that norm if contexts have several
successors?
"""

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from ntpcompanion.checks import checked, need
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.linear.dynamics.steepest_descent import (
    Rule,
    largest_curvature,
    steepest_descent,
)
from ntpcompanion.linear.svm.norm_margins import Norm, NormMargin, solve_norm_margin
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect

Schedule = Literal["constant", "1/√k", "1/k"]
NORMS: tuple[Norm, ...] = ("frobenius", "max", "spectral")
# η_k over the norm of the decoder of margin 1: what a step can add to the smallest margin
RATES: dict[Schedule, tuple[float, float]] = {
    "constant": (0.1, 0.0),
    "1/√k": (1.0, -0.5),
    "1/k": (4.0, -1.0),
}
PARTS = (3, 1)  # decoders are kept after these parts of all steps
SHOWN: Schedule = "1/√k"  # where a question does not ask for another
RUN = need("size", "any(row.size == size for row in self.rows)", "be one of those of the plan")


class Plan(experiment.Plan):
    """Tables with the same embeddings and nested supports of several sizes.

    `sizes` lie below `vocab_size`, and `dim` is at least `num_contexts`.
    """

    num_contexts: Annotated[int, Field(ge=2, description="m")]
    vocab_size: Annotated[int, Field(ge=3, description="V, tokens")]
    dim: Annotated[int, Field(ge=2, description="d, no less than m")]
    sizes: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...],
        Field(min_length=1, description="S, tokens that can follow a context"),
    ]
    tables: Annotated[int, Field(ge=2, description="independent draws of embeddings")]
    steps: Annotated[int, Field(ge=27, description="of each run")]
    momentum: Annotated[float, Field(gt=0, lt=1, description="β of the runs with momentum")]
    seed: Annotated[int, Field(ge=0, description="of the tables")]

    @model_validator(mode="after")
    def _sizes_fit(self) -> "Plan":
        if max(self.sizes) >= self.vocab_size:
            raise ValueError(
                f"`sizes` must be below `vocab_size` = {self.vocab_size}, got {list(self.sizes)}."
            )
        if self.dim < self.num_contexts:
            raise ValueError(
                f"`dim` must be at least `num_contexts` = {self.num_contexts}, so that all tables "
                f"are separable, got {self.dim}."
            )
        return self


class Row(experiment.Result):
    """One run on one table."""

    norm: Norm
    rule: Rule
    schedule: Annotated[Schedule | None, Field(description="of the steps; None: proportional")]
    momentum: Annotated[float, Field(description="β")]
    size: Annotated[int, Field(description="S")]
    table: Annotated[int, Field(description="number")]
    fractions: Annotated[
        tuple[float, float],
        Field(description="of the widest margin, after a third of the steps and at the end"),
    ]
    cosine: Annotated[
        float, Field(description="of the last decoder with that of least norm and margin 1")
    ]
    slope: Annotated[
        float, Field(description="least proved fraction of the steepest slope, last two thirds")
    ]


class Result(experiment.Result):
    """All runs, and the programs behind the fractions."""

    rows: tuple[Row, ...]
    largest_gap: Annotated[float, Field(description="relative, of the programs")]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each run; `fraction` is that of the last decoder."""
        table = table_of(self.rows)
        table["fraction"] = [row.fractions[-1] for row in self.rows]
        table["rise"] = [row.fractions[-1] - row.fractions[-2] for row in self.rows]
        return table

    @checked(RUN)
    def select(
        self,
        norm: Norm,
        size: int,
        rule: Rule = "normalized",
        schedule: Schedule | None = SHOWN,
        momentum: bool = False,
    ) -> pd.DataFrame:
        """The runs of one kind, a row for each table; "proportional" has no schedule."""
        table = self.table
        table = table[(table.norm == norm) & (table["size"] == size) & (table.rule == rule)]
        if rule == "proportional":
            return table
        return table[(table.schedule == schedule) & ((table.momentum > 0) == momentum)]

    def fraction(self, norm: Norm, size: int, **kind: object) -> Effect:
        """Of the widest margin in the norm, at the end, over tables; `kind` as of `select`."""
        return mean_effect(self.select(norm, size, **kind).fraction)  # type: ignore[arg-type]

    def rise(self, norm: Norm, size: int, **kind: object) -> Effect:
        """What the last two thirds of the steps add to the fraction."""
        return mean_effect(self.select(norm, size, **kind).rise)  # type: ignore[arg-type]

    def cosine(self, norm: Norm, size: int, **kind: object) -> Effect:
        """Of the decoder at the end with the one of least norm and margin 1 in its own norm."""
        return mean_effect(self.select(norm, size, **kind).cosine)  # type: ignore[arg-type]

    def lost_cosine(self, norm: Norm, size: int) -> Effect:
        """By how much that cosine is larger with one successor, paired by table; normalized."""
        return paired_effect(self.select(norm, 1).cosine, self.select(norm, size).cosine)

    def gained_by_length(self, norm: Norm, size: int) -> Effect:
        """The fraction at the end by steps of length proportional to the dual norm of the gradient,
        less that by normalized steps, paired by table.
        """
        proportional = self.select(norm, size, rule="proportional")
        return paired_effect(proportional.fraction, self.select(norm, size).fraction)

    def smallest_fraction(self, size: int) -> Effect:
        """Of the fractions in the three norms by normalized steps, the smallest of each table."""
        fractions = [self.select(norm, size).fraction.to_numpy() for norm in NORMS]
        return mean_effect(np.min(fractions, axis=0))

    def by_size(self, norm: Norm, **kind: object) -> pd.DataFrame:
        """Fractions at the end, a row for each table and a column for each S."""
        sizes = sorted({row.size for row in self.rows})
        return pd.DataFrame(
            {size: self.select(norm, size, **kind).fraction.to_numpy() for size in sizes}  # type: ignore[arg-type]
        )

    def proved_slope(self, size: int) -> float:
        """The smallest proved fraction of the steepest slope outside of F, in the last two thirds
        of the separate steps, of all norms.
        """
        return float(min(self.select(norm, size, rule="separate").slope.min() for norm in NORMS))

    @property
    def ends(self) -> pd.DataFrame:
        """Mean fractions at the end: a row for each norm, rule, schedule and β, and a column
        for each size of the supports.
        """
        return self._by_kind("fraction")

    @property
    def cosines(self) -> pd.DataFrame:
        """As `ends`, mean cosines with the decoder of least norm and margin 1 in the own norm."""
        return self._by_kind("cosine")

    def _by_kind(self, value: str) -> pd.DataFrame:
        keys = ["norm", "rule", "schedule", "momentum"]
        table = self.table.fillna({"schedule": "none"})
        return table.pivot_table(index=keys, columns="size", values=value, sort=False)


def run(plan: Plan) -> Result:
    """Descend on tables that differ in the number of successors only, and compare the margin with
    the widest one in the same norm.

    Parameters
    ----------
    plan
        tables and steps.

    Returns
    -------
    Result
        the fraction of the widest margin that each run reaches.

    Raises
    ------
    ValueError
        supports of all tokens, or fewer dimensions than contexts.

    Notes
    -----
    With m = 10, V = 8, d = 12, four sizes, 10 tables and 1,500 steps 50 s, most of it for singular
    values.

    Examples
    --------
    >>> from ntpcompanion.experiments import own_margins
    >>> sizes = {"num_contexts": 3, "vocab_size": 4, "dim": 3, "sizes": (1, 2)}
    >>> plan = own_margins.Plan(**sizes, tables=2, steps=300, momentum=0.9, seed=0)
    >>> found = own_margins.run(plan)
    >>> found.fraction("max", 1).mean > 0.9 > found.fraction("max", 2).mean
    True
    """
    tables = [table for number in range(plan.tables) for table in _nested_tables(plan, number)]
    rows: list[Row] = []
    gaps: list[float] = []
    for norm in NORMS:
        widest = [solve_norm_margin(table, norm) for table in tables]
        gaps += [answer.gap for answer in widest]
        sizes = np.array([answer.size for answer in widest])
        schedules: dict[Schedule | None, np.ndarray] = {
            name: sizes[:, None] * first * np.arange(1, plan.steps + 1) ** power
            for name, (first, power) in RATES.items()
        }
        curvature = np.array([largest_curvature(table, norm) for table in tables])
        fixed: dict[Schedule | None, np.ndarray] = {
            None: np.repeat(1 / curvature[:, None], plan.steps, axis=1)
        }
        kinds: tuple[tuple[Rule, float, dict[Schedule | None, np.ndarray]], ...] = (
            ("normalized", 0.0, schedules),
            ("normalized", plan.momentum, schedules),
            ("separate", 0.0, schedules),
            ("proportional", 0.0, fixed),
        )
        for rule, momentum, rates in kinds:
            rows += _descended(plan, tables, widest, rule, momentum, rates)
    return Result(rows=tuple(rows), largest_gap=max(gaps))


def _descended(
    plan: Plan,
    tables: list[ContextTable],
    widest: list[NormMargin],
    rule: Rule,
    momentum: float,
    rates: dict[Schedule | None, np.ndarray],
) -> list[Row]:
    """All schedules and tables at once."""
    path = steepest_descent(
        tables * len(rates),
        norm=widest[0].norm,
        rates=np.concatenate(list(rates.values())),
        keep=[plan.steps // part for part in PARTS],
        momentum=momentum,
        rule=rule,
    )
    ends = path.weights.reshape(len(PARTS), len(rates), len(tables), *path.weights.shape[2:])
    return [
        Row(
            norm=answer.norm,
            rule=rule,
            schedule=schedule,
            momentum=momentum,
            size=plan.sizes[i % len(plan.sizes)],
            table=i // len(plan.sizes),
            slope=float(path.slope[-1, i + number * len(tables)]),
            fractions=tuple(answer.fractions(table, ends[:, number, i]).tolist()),
            cosine=float(answer.cosines(table, ends[-1:, number, i])[0]),
        )
        for number, schedule in enumerate(rates)
        for i, (table, answer) in enumerate(zip(tables, widest, strict=True))
    ]


def _nested_tables(plan: Plan, number: int) -> list[ContextTable]:
    """Equal embeddings; the support of each size holds the smaller ones."""
    rng = stream(plan.seed, f"table {number}")
    m, V = plan.num_contexts, plan.vocab_size
    embeddings, order = rng.standard_normal((m, plan.dim)), rng.random((m, V)).argsort(axis=1)
    positive = rng.exponential(size=(m, V))
    tables = []
    for size in plan.sizes:
        p = np.where(order < size, positive, 0.0)
        p /= p.sum(axis=1, keepdims=True)
        tables.append(ContextTable(embeddings, p, np.full(m, 1 / m)))
    return tables
