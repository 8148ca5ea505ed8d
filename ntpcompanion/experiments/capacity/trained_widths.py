"""Recorded runs of `least_width` as a table: the parameters that come within a criterion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ntpcompanion.capacity.decoder import count_parameters
from ntpcompanion.experiments.capacity.last_layer_widths import CRITERIA
from ntpcompanion.experiments.thresholds.least_width import Plan, Result
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, mean_effect, slope_within_seeds

Point = tuple[str, float]  # kind of runs and criterion
LOOSE, TIGHT, TIGHTEST = CRITERIA
SLOW, CHAIN = "text, 4 times the steps", "Markov, 4 times the steps"
# after, before, and documents if not all
CHANGES: Mapping[str, tuple[Point, Point, Sequence[int] | None]] = {
    "tighter, text": (("text", TIGHT), ("text", LOOSE), None),
    "tighter, random": (("random", TIGHT), ("random", LOOSE), None),
    "tighter, Markov, longer": ((CHAIN, TIGHT), (CHAIN, LOOSE), None),
    "tightest, text, longer": ((SLOW, TIGHTEST), (SLOW, LOOSE), None),
    "longer, text": ((SLOW, LOOSE), ("text", LOOSE), [32]),
    "longer, Markov": ((CHAIN, TIGHT), ("Markov", TIGHT), [32]),
    "random for text, tight": (("random", TIGHT), ("text", TIGHT), [16, 32]),
    "random for text, loose": (("random", LOOSE), ("text", LOOSE), [16, 32]),
}


@dataclass(frozen=True, eq=False)
class TrainedWidths:
    """What `read_widths` returns.

    Fields
    ------
    table
        a row for each run: `kind`, `documents`, `seed`, contexts `N`, tokens `V`, `numbers`
        N (V − 1), parameters of the `widest` decoder that was tried, and for each criterion those
        of the narrowest one that comes within it (missing if none does).
    """

    table: pd.DataFrame

    def by_seed(self, kind: str, column: str | float) -> pd.DataFrame:
        """A column of one kind of runs: a row for each seed, a column for each size."""
        rows = self.table[self.table.kind == kind]
        return rows.pivot(index="seed", columns="documents", values=column)

    def power(self, kind: str, criterion: float) -> Effect:
        """The power of N (V − 1) with which parameters grow, over seeds in which every size reached
        the criterion.
        """
        k = self.by_seed(kind, criterion).dropna()
        return slope_within_seeds(np.log(self.by_seed(kind, "numbers").loc[k.index]), np.log(k))

    def log_ratio(
        self, after: Point, before: Point, documents: Sequence[int] | None = None
    ) -> Effect:
        """Log of the parameters for one kind and criterion over those for another, mean over some
        sizes.
        """
        logs = self.by_seed(*after).apply(np.log) - self.by_seed(*before).apply(np.log)
        return mean_effect(logs[logs.columns if documents is None else documents].mean(axis=1))

    @cached_property
    def changes(self) -> dict[str, Effect]:
        """The `log_ratio` of each of CHANGES."""
        return {name: self.log_ratio(*points) for name, points in CHANGES.items()}

    @property
    def least_above_count(self) -> Effect:
        """The least of `above_count` over sizes, for random targets and the middle criterion."""
        return mean_effect(self.above_count("random", TIGHT).min(axis=1))

    def above_count(self, kind: str, criterion: float) -> pd.DataFrame:
        """Log of the parameters over N (V − 1): a row for each seed, a column for each size."""
        numbers = self.by_seed(kind, "numbers").apply(np.log)
        return self.by_seed(kind, criterion).apply(np.log) - numbers

    def summary(self) -> pd.DataFrame:
        """Parameters over N (V − 1) for the fewest and the most documents, and their power: a row
        for each kind and criterion.
        """
        rows = []
        for kind in self.table.kind.unique():
            for criterion in CRITERIA:
                reached = self.table[criterion][self.table.kind == kind]
                k, numbers = self.by_seed(kind, criterion).dropna(), self.by_seed(kind, "numbers")
                fractions = (k / numbers).mean()
                row = {
                    "targets": kind.replace("4 times the", "4 ×"),
                    "within (%)": f"{100 * criterion:g}",
                    "reached": f"{reached.count()} of {len(reached)}",
                    "k/count, fewest": fractions.iloc[0],
                    "k/count, most": fractions.iloc[-1],
                }
                if min(k.shape) > 1:
                    power = self.power(kind, criterion)
                    row |= {"power": power.mean, "error": power.stderr}
                rows.append(row)
        return pd.DataFrame(rows)


def read_widths(records: Mapping[str, Sequence[Run[Plan, Result]]]) -> TrainedWidths:
    """Read recorded runs of `least_width`.

    Parameters
    ----------
    records
        for each kind of runs those of its record.

    Returns
    -------
    TrainedWidths
        the least parameters of each run.

    Examples
    --------
    >>> from ntpcompanion.experiments import least_width, read_widths
    >>> from ntpcompanion.recorded import Run
    >>> plan = least_width.Plan(targets="text", documents=16, widths=(1, 2), steps=1, seed=0)
    >>> sizes = {"contexts": 10, "vocab_size": 5, "support": 12, "entropy": 2.0}
    >>> result = least_width.Result(**sizes, parameters=(90, 120), excess=(0.1, 0.015))
    >>> found = read_widths({"text": [Run(plan, result)]})
    >>> found.table[["numbers", 0.01]].values.tolist()
    [[40, 120]]
    """
    rows = [_row(kind, task) for kind, tasks in records.items() for task in tasks]
    return TrainedWidths(pd.DataFrame(rows))


def _row(kind: str, task: Run[Plan, Result]) -> dict[str | float, Any]:
    plan, result = task.plan, task.result
    row: dict[str | float, Any] = {"documents": plan.documents, "seed": plan.seed, "kind": kind}
    row |= {"N": result.contexts, "V": result.vocab_size}
    row |= {"numbers": result.contexts * (result.vocab_size - 1), "widest": result.parameters[-1]}
    for criterion in CRITERIA:
        met = np.array(result.excess) / result.entropy <= criterion
        row[criterion] = result.parameters[met.argmax()] if met.any() else np.nan
    return row


def printed_points() -> pd.DataFrame:
    """The points of the figure of Madden, Fox and Thrampoulidis (2025), at 1 % with d = 16.

    Returns
    -------
    pandas.DataFrame
        contexts `N` as printed, tokens `V` and width `m` as inferred from the parameters `k`, the
        `factor` N (V − 1) / k, and k `per_context`.

    Examples
    --------
    >>> from ntpcompanion.experiments import printed_points
    >>> int(printed_points().k.iloc[-1])  # as the figure shows
    35442
    """
    contexts = [377, 699, 952, 1223, 1459, 1637, 1896, 2117, 2374, 2637]
    tokens = [182, 290, 358, 417, 469, 513, 560, 606, 648, 690]
    table = pd.DataFrame({"N": contexts, "V": tokens, "m": [32, 16, 16, *[32] * 7]})
    sizes = zip(table.V, table.m, strict=True)
    table["k"] = [count_parameters(V, dim=16, width=m) for V, m in sizes]
    table["factor"] = (table.V - 1) * table.N / table.k
    table["per_context"] = table.k / table.N
    return table
