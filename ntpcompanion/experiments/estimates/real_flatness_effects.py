"""A real language model: how much of its trace rescalings remove, and what fine-tuning changes."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from ntpcompanion.experiments.real_model.real_flatness import Arm, Traces
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect

Trace = Literal["plain", "balanced", "fitted", "of_hessian"]
TRACES: dict[str, str] = {
    "plain": "Fisher",
    "of_hessian": "Hessian",
    "balanced": "balanced",
    "fitted": "fitted",
}


@dataclass(frozen=True, eq=False)
class RealFlatnessEffects:
    """Estimates over the parts of a text.

    Fields
    ------
    runs
        of a record of `real_flatness`, one for each part.
    """

    runs: Iterable[Any]

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each part and arm, with loss, length of the change, and traces in nats."""
        rows = [
            {"part": run.plan.segment, "arm": model.arm, "loss": model.loss}
            | {"length": model.length, "relative_size": model.relative_size}
            | {name: getattr(model, name) for name in TRACES}
            for run in self.runs
            for model in run.result.models
        ]
        return pd.DataFrame(rows).set_index(["arm", "part"]).sort_index()

    def log_ratio(self, trace: Trace, after: Arm, before: Arm = "start") -> Effect:
        """Mean over parts of the logarithm of a trace over the same trace of another model."""
        logs = np.log(self.table[trace])
        return paired_effect(after=logs[after], before=logs[before])

    def fraction(self, trace: Trace) -> Effect:
        """A trace of the start over that of its Fisher information."""
        start = self.table.loc["start"]
        return mean_effect(start[trace] / start.plain)

    @cached_property
    def by_kind(self) -> pd.DataFrame:
        """Traces of the start, means over parts, a row for each kind of parameter; `error` is the
        standard error over parts of that of the Hessian.
        """
        starts = [_of(run.result.models, "start") for run in self.runs]
        plain = pd.DataFrame([model.fisher for model in starts])
        balanced = pd.DataFrame([model.balanced_kinds for model in starts])
        hessian = pd.DataFrame([pd.DataFrame(model.hessian).mean() for model in starts])
        columns = {"Fisher": plain.mean(), "Hessian": hessian.mean()}
        columns |= {"error": hessian.sem(), "Fisher, rescaled": balanced.mean()}
        return pd.DataFrame(columns)

    @property
    def arm_table(self) -> pd.DataFrame:
        """Means over parts, a row for each arm."""
        columns = {"loss": "loss (nats)", "relative_size": "relative change"} | TRACES
        means = self.table.groupby("arm")[list(columns)].mean().loc[["start", "SGD", "AdamW"]]
        return means.rename(columns=columns).rename_axis("model").reset_index()


def _of(models: Iterable[Traces], arm: Arm) -> Traces:
    return next(model for model in models if model.arm == arm)
