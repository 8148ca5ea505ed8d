"""What a page reads from the runs of `fair_minilm`: means over blocks of contents."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ntpcompanion.experiments.adaptation.fair_minilm import Plan, Result
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect

MAPS = {
    "none": "none",
    "equal": "loss",
    "mean": "less mean shift",
    "1": "less 1 direction",
    "2": "less 2 directions",
    "4": "less 4 directions",
    "6": "less 6 directions",
    "12": "less 12 directions",
}


@dataclass(frozen=True, eq=False)
class FairEffects:
    """Estimates over the blocks that were held out.

    Fields
    ------
    runs
        of a record of `fair_minilm`, which differ in the blocks that maps are fitted on.
    """

    runs: Iterable[Run[Plan, Result]]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row a split and map, with `blocks` fitted on, `held_out`, and the fields of
        `Measured`, with `gap` and `shift` over what they are without a map.
        """
        rows = []
        for run in self.runs:
            (none,) = (each for each in run.result.measured if each.method == "none")
            split = {"blocks": len(run.plan.split.training), "held_out": run.plan.split.held_out}
            for each in run.result.measured:
                ratios = {"gap": each.gap / none.gap, "shift": each.shift / none.shift}
                rows.append({**split, **vars(each), **ratios})
        return pd.DataFrame(rows)

    @cached_property
    def splits(self) -> pd.DataFrame:
        """One row a split, with `blocks`, `held_out`, `smallest`, `common`, `content_along`, and
        `excess`, what is left less what is predicted, mean over frames.
        """
        rows = [
            {
                "blocks": len(run.plan.split.training),
                "held_out": run.plan.split.held_out,
                "excess": np.mean([frame.left - frame.predicted for frame in run.result.frames]),
                **vars(run.result),
            }
            for run in self.runs
        ]
        return pd.DataFrame(rows).drop(columns=["measured", "frames"])

    def mean(self, column: str, method: str, blocks: int = 1) -> Effect:
        """The mean of a column of `table`."""
        return mean_effect(self._values(column, method, blocks))

    def lead(self, column: str, first: str, second: str, blocks: int = 1) -> Effect:
        """The first map's number less the second's, paired by the block that was held out."""
        values = (self._values(column, method, blocks) for method in (first, second))
        return paired_effect(*values)

    def split_mean(self, column: str, blocks: int = 1) -> Effect:
        """The mean of a column of `splits`."""
        return mean_effect(self.splits[self.splits.blocks == blocks][column].to_numpy())

    def summary(self, columns: Iterable[str], blocks: int) -> pd.DataFrame:
        """Means over blocks: a row for each map, in the order of MAPS."""
        rows = self.table[self.table.blocks == blocks]
        means = rows.groupby("method")[list(columns)].mean()
        shown = means.loc[[name for name in MAPS if name in means.index]].rename(index=MAPS)
        return shown.rename_axis("map").reset_index()

    def _values(self, column: str, method: str, blocks: int) -> np.ndarray:
        table = self.table
        rows = table[(table.method == method) & (table.blocks == blocks)]
        return rows.sort_values("held_out")[column].to_numpy()
