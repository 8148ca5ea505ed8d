"""How far SGD can lower the trace at the settings that the second paper prints."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from ntpcompanion.experiments.same_loss.study_table import Study
from ntpcompanion.statistics.effects import Effect, mean_effect


class DriftLine(NamedTuple):
    """The `factor` of the bound for each doubling of the width, geometric mean over seeds, and the
    `log10` of the bound at a width.
    """

    factor: float
    log10: Effect


@dataclass(frozen=True, eq=False)
class DriftBounds:
    """By which fraction the flow of SGD can lower the trace at the settings that the paper prints,
    at most: η² k ‖∇ tr H‖² / (4 B tr H).

    Fields
    ------
    studies
        by width, with the same seeds.
    """

    studies: Mapping[int, Study]
    learning_rate: float = 1e-3
    steps: int = 30_000
    batch_size: int = 4096

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each seed, a column for each width."""
        time = self.learning_rate**2 * self.steps / (4 * self.batch_size)
        bounds = {
            width: time * study.saturated("slope") / study.saturated("trace")
            for width, study in self.studies.items()
        }
        return pd.DataFrame(bounds)

    @property
    def growth(self) -> list[float]:
        """The factor of the bound from each width to the next, geometric mean over seeds."""
        steps = np.diff(np.log10(self.table.T.to_numpy()), axis=0).mean(1)
        return [float(10**step) for step in steps]

    @property
    def means(self) -> dict[int, Effect]:
        """By width, over seeds."""
        return {width: mean_effect(self.table[width]) for width in self.studies}

    def line(self, width: int) -> DriftLine:
        """The least-squares line of each seed through log10 of the bounds against log2 of the
        width, and what it reaches at a `width`.
        """
        bounds = np.log10(self.table.T.to_numpy())
        slope, level = np.polyfit(np.log2(self.table.columns), bounds, 1)
        return DriftLine(float(10 ** slope.mean()), mean_effect(level + slope * np.log2(width)))

    def if_growing_on(self, doublings: int) -> float:
        """The bound that many doublings above the largest width, if each does what the last did."""
        logs = np.log10(self.table.T.to_numpy()).mean(1)
        return float(10 ** (logs[-1] + doublings * (logs[-1] - logs[-2])))
