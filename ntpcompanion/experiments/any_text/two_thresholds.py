"""From how many dimensions on has the loss no minimizer, and from how many does it come
arbitrarily close to the entropy?
"""

import functools
from bisect import bisect_left
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.linear.separability.compatibility import CompatibilityVerdict, check_compatibility
from ntpcompanion.linear.separability.implied_table import implied_support
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect


class Plan(experiment.Plan):
    """Random tables of several numbers of contexts.

    `support_sizes` lie below `vocab_size` and differ; `num_contexts` increases.
    """

    vocab_size: Annotated[int, Field(ge=3, description="V, tokens")]
    support_sizes: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...],
        Field(min_length=1, description="S, tokens that can follow a context"),
    ]
    num_contexts: Annotated[
        tuple[Annotated[int, Field(ge=2)], ...],
        Field(min_length=2, description="m, in increasing order"),
    ]
    draws: Annotated[int, Field(ge=2, description="tables of each kind")]
    seed: Annotated[int, Field(ge=0, description="of embeddings and supports")]

    @model_validator(mode="after")
    def _sizes_fit(self) -> "Plan":
        if max(self.support_sizes) >= self.vocab_size:
            raise ValueError(
                f"`support_sizes` must lie in 1 … {self.vocab_size - 1} (`vocab_size` − 1), got "
                f"{list(self.support_sizes)}."
            )
        if len({*self.support_sizes}) < len(self.support_sizes):
            raise ValueError(f"`support_sizes` must differ, got {list(self.support_sizes)}.")
        if list(self.num_contexts) != sorted(set(self.num_contexts)):
            raise ValueError(f"`num_contexts` must increase, got {list(self.num_contexts)}.")
        return self


class Thresholds(experiment.Result):
    """Of one table, whose embeddings get one coordinate after the other."""

    support_size: Annotated[int, Field(description="S, tokens")]
    contexts: Annotated[int, Field(description="m")]
    minimizer_to: Annotated[
        int, Field(ge=0, description="largest d at which the loss is proved to have a minimizer")
    ]
    entropy_from: Annotated[
        int,
        Field(ge=1, description="smallest d at which the table is proved compatible and separable"),
    ]


class Result(experiment.Result):
    """Both thresholds of every table."""

    tables: tuple[Thresholds, ...]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each table, with the `window` (entropy_from − 1 − minimizer_to) / m."""
        table = table_of(self.tables)
        table["window"] = (table.entropy_from - 1 - table.minimizer_to) / table.contexts
        return table

    @property
    def phases(self) -> pd.DataFrame:
        """For each S, m and d/m the fractions of tables with a `minimizer`, and whose loss comes
        `to the entropy`; the rest lies between.
        """
        rows: list[tuple[float, ...]] = []
        for key, group in self.table.groupby(["support_size", "contexts"]):
            size, m = map(int, key)  # type: ignore[arg-type]  # a pair of integers
            for d in range(1, m + 1):
                minimizer, reached = (group.minimizer_to >= d), (group.entropy_from <= d)
                rows.append((size, m, d / m, minimizer.mean(), reached.mean()))
        return pd.DataFrame(rows, columns=["S", "m", "d/m", "minimizer", "to the entropy"])

    def change(self, size: int) -> Effect:
        """The window at the largest m minus that at the smallest, for one S."""
        windows = self.table[self.table.support_size == size].groupby("contexts")["window"]
        smallest, *_, largest = (np.array(group) for _, group in windows)
        return paired_effect(largest, smallest)

    def window(self, size: int, contexts: int) -> Effect:
        """The mean width of the window, in d/m."""
        table = self.table
        chosen = (table.support_size == size) & (table.contexts == contexts)
        return mean_effect(np.array(table["window"][chosen]))


def run(plan: Plan) -> Result:
    """Find both thresholds of random tables with N(0, 1) embeddings, by bisection.

    Parameters
    ----------
    plan
        sizes of the tables, and how many are drawn.

    Returns
    -------
    Result
        for each table the largest d with a minimizer, and the smallest at which the loss comes
        arbitrarily close to the entropy. Both are proved; what is undecided widens the window.

    Notes
    -----
    One `implied_support` for each step: 20 s for 60 tables with 15 to 60 contexts and 8 of 10
    tokens in each support.

    Examples
    --------
    >>> from ntpcompanion.experiments import two_thresholds
    >>> sizes = {"vocab_size": 4, "support_sizes": (2,), "num_contexts": (4, 8)}
    >>> result = two_thresholds.run(two_thresholds.Plan(**sizes, draws=2, seed=0))
    >>> len(result.tables), bool((result.table.window >= 0).all())
    (4, True)
    """
    tables = []
    for size in plan.support_sizes:
        for m in plan.num_contexts:
            for draw in range(plan.draws):
                rng = stream(plan.seed, f"table {size} {m} {draw}")
                table = ContextTable.random(m, plan.vocab_size, size, m, rng)
                to, start = _thresholds(table)
                tables.append(
                    Thresholds(support_size=size, contexts=m, minimizer_to=to, entropy_from=start)
                )
    return Result(tables=tuple(tables))


def _thresholds(table: ContextTable) -> tuple[int, int]:
    """From d to d + 1 fewer tables have the same moments, so supports of the implied table shrink,
    and decoders have more log-odds.
    """
    m = table.num_contexts

    @functools.cache
    def case(d: int) -> str:
        first = ContextTable(table.embeddings[:, :d], table.next_token, table.weight)
        try:
            support = implied_support(first)
        except RuntimeError:
            return "undecided"
        if support.separating is None:
            return "minimizer"
        compatible = check_compatibility(first).verdict is CompatibilityVerdict.COMPATIBLE
        return "entropy" if compatible and not support.certificates else "neither"

    dims = range(1, m)
    to = bisect_left(dims, True, key=lambda d: case(d) != "minimizer")
    return to, 1 + bisect_left(dims, True, key=lambda d: case(d) == "entropy")
