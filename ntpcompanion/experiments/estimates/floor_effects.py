"""Networks near the least loss of a real model's language: what a trace is worth downstream, over
seeds and test suites.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ntpcompanion.experiments.estimates.real_downstream_effects import (
    ACCURACIES,
    network_table,
    worth_of_half,
)
from ntpcompanion.experiments.estimates.recorded_studies import keyed
from ntpcompanion.experiments.real_model.real_downstream import Plan, Result
from ntpcompanion.experiments.same_loss.recorded_study import TRACES
from ntpcompanion.experiments.same_loss.study_effects import with_interval
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, crossed_effect, slopes_of_seeds

SHOWN = ("projected", "masked", "heads")  # accuracies of a table with a row for each change
# columns of `FloorEffects.by_probe`, and what readers see above them
FLOOR_EFFECTS = {
    "slope": "all five traces",
    "flatter": "control and below",
    "sharper": "control and above",
    "median": "all, by the median input",
    "halved": "half of the loss, not held",
}


@dataclass(frozen=True, eq=False)
class FloorEffects:
    """Estimates over seeds and test suites, for networks near the least loss.

    Fields
    ------
    runs
        of `real_downstream` with one length of the pre-training: every suite measures networks of
        all seeds, which it has held with its own sentences.
    short
        of the networks of the first suite after shorter pre-training, not held.
    """

    runs: Sequence[Run[Plan, Result]]
    short: Sequence[Run[Plan, Result]]

    @cached_property
    def table(self) -> pd.DataFrame:
        """All networks of the runs."""
        return network_table(self.runs)

    @cached_property
    def lengths(self) -> pd.DataFrame:
        """The networks of the first suite whose trace nothing holds, by length of the training."""
        short = network_table(self.short)
        table: pd.DataFrame = pd.concat([short, self.table[self.table.suite == short.suite[0]]])
        return table[table.kind == "pretrained"]

    @property
    def words(self) -> dict[str, str]:
        """What readers see for each accuracy."""
        return ACCURACIES | {"projected": f"{self.runs[0].plan.suite.probe.dims} columns"}

    @property
    def held(self) -> pd.DataFrame:
        """The networks at chosen traces."""
        return self.table[self.table.kind == "held"]

    def wide(self, column: str, rows: pd.DataFrame | None = None) -> pd.DataFrame:
        """A column of some networks, by default of all held ones: a row for each seed, a column for
        each suite and change; logarithms of traces.
        """
        table = self.held if rows is None else rows
        values = table.pivot(index="seed", columns=["suite", "change"], values=column)
        return values.apply(np.log) if column in TRACES else values

    def slopes(
        self, probe: str, trace: str = "function", rows: pd.DataFrame | None = None
    ) -> pd.DataFrame:
        """Points for each e-fold of a trace, of each seed by each suite."""
        x, y = self.wide(trace, rows), self.wide(probe, rows)
        suites = self.table.suite.unique()
        return pd.DataFrame({suite: slopes_of_seeds(x[suite], y[suite]) for suite in suites})

    def change(self, column: str, change: float) -> Effect:
        """What differs between the networks with a change of the trace and the controls: e-folds of
        a trace, or points.
        """
        values = self.wide(column)
        changed, control = (values.xs(key, axis=1, level="change") for key in (change, 0.0))
        return crossed_effect(changed - control)

    @cached_property
    def by_probe(self) -> pd.DataFrame:
        """An effect in points for each probe and of each of FLOOR_EFFECTS: slopes in the trace,
        over seeds and suites, and what half of the loss is worth.
        """
        flatter, sharper = (self.held[sign * self.held.change >= 0] for sign in (-1, 1))
        effects = {
            name: (
                crossed_effect(self.slopes(name)),
                crossed_effect(self.slopes(name, rows=flatter)),
                crossed_effect(self.slopes(name, rows=sharper)),
                crossed_effect(self.slopes(name, "median")),
                worth_of_half(self.lengths, name),
            )
            for name in ACCURACIES
        }
        return pd.DataFrame.from_dict(effects, orient="index", columns=[*FLOOR_EFFECTS])

    @property
    def slope_table(self) -> pd.DataFrame:
        """`by_probe` for readers, with 95 % intervals."""
        shown = self.by_probe.map(with_interval).rename(index=self.words, columns=FLOOR_EFFECTS)
        return shown.rename_axis("probe").reset_index()

    @property
    def change_table(self) -> pd.DataFrame:
        """Mean loss at each change of the trace, and what differs there from the controls, with
        95 % intervals.
        """
        loss = self.held.groupby("change")[["excess", "share"]].mean()
        words = {"function": "trace (e-folds)", **{name: self.words[name] for name in SHOWN}}
        effects = {
            word: {change: with_interval(self.change(name, change)) for change in loss.index}
            for name, word in words.items()
        }
        named = loss.rename(columns={"excess": "loss (nats)", "share": "loss (% of gap)"})
        return pd.concat([named, pd.DataFrame(effects)], axis=1).rename_axis("asked").reset_index()

    @property
    def plane(self) -> pd.DataFrame:
        """For `draw_trace_plane`: the networks at chosen traces against the control of their seed,
        means over suites.
        """
        rows = self.held.assign(log_trace=np.log(self.held.function), points=self.held.projected)
        means = rows.groupby(["seed", "change"])[["log_trace", "points"]].mean()
        moved = means.sub(means.xs(0.0, level="change"), level="seed").drop(0.0, level="change")
        return moved.reset_index().rename(columns={"change": "strength"})

    @property
    def summary(self) -> dict[str, Any]:
        """Numbers of the text, on the language, what is left of the loss, and the slopes."""
        plan, result, held = self.runs[0].plan, self.runs[0].result, self.held
        trained = self.table[self.table.kind == "pretrained"]
        excess = held.groupby("change").excess.mean()
        flattest, sharpest = held.change.min(), held.change.max()
        numbers = {
            "words": plan.language.words,
            "dims": plan.suite.probe.dims,
            "gap": result.gaps.learnable_gap,
            "bayes": 100 * result.bayes,
            "words_accuracy": 100 * result.columns["words"],
            "full": trained.full.mean(),
            "chance": 100 * result.chance,
            "nats": trained.excess.mean(),
            "most": excess.max(),
            "doubled": np.log2(excess[flattest] / excess[0.0]),
            "level": trained.projected.mean(),
            "untrained": self.table[self.table.kind == "untrained"].projected.mean(),
            "lost": with_interval(self.change("projected", flattest)),
            "flat": with_interval(self.change("function", flattest)),
            "sharp": with_interval(self.change("function", sharpest)),
            **keyed(
                self.by_probe.map(with_interval).T, {name: f"{name}_" for name in FLOOR_EFFECTS}
            ),
        }
        return {f"floor_{name}": number for name, number in numbers.items()}
