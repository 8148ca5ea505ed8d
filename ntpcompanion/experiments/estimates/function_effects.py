"""What penalties of the trace change in the function, and how far SGD can lower the trace."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ntpcompanion.experiments.estimates.recorded_studies import RecordedStudies
from ntpcompanion.experiments.estimates.trace_effects import PROBES
from ntpcompanion.experiments.same_loss.penalized_traces import with_function_traces
from ntpcompanion.experiments.same_loss.recorded_study import Study
from ntpcompanion.experiments.same_loss.study_effects import slope_table, with_interval
from ntpcompanion.statistics.effects import Effect, mean_effect

WEIGHTS = (-0.01, 0.0, 0.01, 0.03)  # of the penalty; chosen before these traces were known


@dataclass(frozen=True, eq=False)
class FunctionEffects:
    """Penalized networks that were trained once more, with the traces of their functions.

    Fields
    ------
    studies
        by language, of `with_function_traces`.
    """

    studies: Mapping[str, Study]

    @cached_property
    def changes(self) -> pd.DataFrame:
        """Changes of the logarithms of four traces against no penalty, by language and weight."""
        traces, weights = ["trace", "balanced", "function", "median"], [w for w in WEIGHTS if w]
        return pd.concat(
            {
                name: study.effects("penalty", traces, weights)
                for name, study in self.studies.items()
            },
            names=["language", "weight"],
        )

    @property
    def change_table(self) -> pd.DataFrame:
        """The `changes` for readers, with 95 % intervals."""
        shown = self.changes.map(with_interval).rename(columns={"trace": "plain"})
        return shown.reset_index().astype({"weight": str})

    @cached_property
    def planes(self) -> dict[str, pd.DataFrame]:
        """For `draw_trace_plane`: each network against the one without a penalty, by language."""
        return {
            name: study.plane(["penalty"], trace="function") for name, study in self.studies.items()
        }

    @cached_property
    def slopes(self) -> pd.DataFrame:
        """Points per e-fold of the trace of the function, a row for each language, a column for
        each probe.
        """
        return slope_table(self.studies, "penalty", [*PROBES], WEIGHTS, "function")

    @property
    def slope_table(self) -> pd.DataFrame:
        """The `slopes` for readers, with 95 % intervals."""
        shown = self.slopes.map(with_interval).rename(columns=PROBES)
        return shown.rename_axis("language").reset_index()

    @property
    def summary(self) -> pd.DataFrame:
        """For each language by how many e-folds the sharpest networks `grew` in the balanced trace,
        what is `left` of it in the function, the `span` of the function to the flattest, and the
        slopes with their intervals; at masked words among the flatter and the sharper ones alone,
        too.
        """
        rows, sides = {}, {"sharper": WEIGHTS[:2], "flatter": WEIGHTS[1:]}
        for name, study in self.studies.items():
            changes = self.changes.loc[name]
            sharper, *_, flatter = changes["function"]
            rows[name] = {
                "grew": changes["balanced"].iloc[0].mean,
                "left": sharper.mean,
                "span": sharper.mean - flatter.mean,
                "function_projected": with_interval(self.slopes.projected[name]),
                "function_masked": with_interval(self.slopes.masked[name]),
                **{
                    f"function_masked_{side}": with_interval(
                        study.slope("penalty", "masked", weights, "function")
                    )
                    for side, weights in sides.items()
                },
            }
        return pd.DataFrame(rows).T

    @property
    def excess_of_sharpest(self) -> tuple[float, float]:
        """By how much the loss of the sharpest networks is larger than without a penalty, in per
        cent of the learnable gap: the larger mean of both languages, and the most of all seeds.
        """
        rises = [
            study.arm("penalty", WEIGHTS[0], "share") - study.arm("penalty", 0.0, "share")
            for study in self.studies.values()
        ]
        return max(rise.mean() for rise in rises), max(rise.max() for rise in rises)


def read_function_effects(
    studies: RecordedStudies, read: Callable[[str], Iterable[Any]]
) -> FunctionEffects:
    """The records of `penalized_traces` beside the studies; `read` gives the runs of a record."""
    again = {"8 states": (studies.longer, "hmm8"), "6 states": (studies.six, "hmm6")}
    return FunctionEffects(
        {
            name: with_function_traces(study, read(f"penalized_traces_{language}"))
            for name, (study, language) in again.items()
        }
    )


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
