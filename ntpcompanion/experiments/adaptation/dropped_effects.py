"""What a page reads from the runs of `pruned_finetuning`: how much of each fine-tuning is left."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from ntpcompanion.experiments.adaptation.pruned_finetuning import Method
from ntpcompanion.experiments.tasks import tasks_table
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect

Change = Literal["small", "large", "pulled"]
Case = tuple[Change, Method, float]
METHODS: dict[Method, str] = {
    "unbiased": "DARE",
    "global": "q*, whole model",
    "local": "q*, each matrix",
    "magnitude": "largest entries",
}


@dataclass(frozen=True, eq=False)
class DroppedEffects:
    """Estimates over the parts of a text.

    Fields
    ------
    runs
        of a record of `pruned_finetuning`, with two learning rates, and with a pull to the start.
    """

    runs: Iterable[Any]

    @cached_property
    def tunings(self) -> pd.DataFrame:
        """A row for each fine-tuning, with the fields of plan and result, `change` (small, large),
        `gain` (reduction of the loss in nats), and Q / S², `by_matrix` (median) and `by_model`.
        """
        table: Any = tasks_table(self.runs)
        size = np.where(table.learning_rate < table.learning_rate.max(), "small", "large")
        tunings: pd.DataFrame = table.assign(
            change=np.where(table.pull > 0, "pulled", size),
            gain=table.loss_before - table.loss_after,
            by_matrix=table.ratios.map(np.median),
            by_model=table["noise"] / table["shift"],
        )
        return tunings

    @cached_property
    def table(self) -> Any:
        """A row for each model that was read, with `segment`, `change`, the fields of `Pruned`, the
        fraction `kept` of the gain, and the divergence `predicted` of a linear model with DARE.
        """
        tunings: Any = self.tunings
        rows = [
            {"segment": run.segment, "change": run.change, "gain": run.gain, **vars(pruned)}
            | {"kept": (run.loss_before - pruned.loss) / run.gain}
            | {"predicted": pruned.p / (1 - pruned.p) * run.noise}
            for run in tunings.itertuples()
            for pruned in run.pruned
        ]
        return pd.DataFrame(rows)

    @cached_property
    def by_part(self) -> Any:
        """`kept` as mean over masks, indexed by change, method, p and segment."""
        return self.table.groupby(["change", "method", "p", "segment"]).kept.mean()

    def fractions(self, *case: Any) -> Float[np.ndarray, " parts"]:
        """The fraction that is left of a change by a method at p, for each part of the text."""
        values: Float[np.ndarray, " parts"] = self.by_part.loc[case].to_numpy()
        return values

    def lead(self, first: Case, second: Case) -> Effect:
        """How much more the first keeps than the second, paired by part of the text."""
        return paired_effect(after=self.fractions(*first), before=self.fractions(*second))

    def lead_of_one_mask(self, change: Change, p: float) -> Effect:
        """How much more the divisors of each matrix keep than DARE with the same, first, masks."""
        rows = (
            self.table[self.table["mask"] == 0].set_index(["change", "p", "segment"]).sort_index()
        )
        by_method = rows.loc[change, p].pivot(columns="method", values="kept")
        return paired_effect(after=by_method["local"], before=by_method["unbiased"])

    def shrinking_lead(self, p: float) -> Effect:
        """The lead of random over magnitude pruning, smaller minus larger change."""
        small, large = (
            self.fractions(change, "unbiased", p) - self.fractions(change, "magnitude", p)
            for change in ("small", "large")
        )
        return paired_effect(after=small, before=large)

    def ratio_of_ratios(self, change: Change) -> Effect:
        """Q / S² of a matrix (median) over that of the model."""
        rows: Any = self.tunings[self.tunings.change == change]
        return mean_effect(rows.by_matrix / rows.by_model)

    def linearity(self, change: Change, p: float) -> Effect:
        """Measured over predicted divergence of DARE."""
        rows = self.table.set_index(["change", "method", "p"]).sort_index()
        means = (
            rows.loc[change, "unbiased", p].groupby("segment")[["divergence", "predicted"]].mean()
        )
        return mean_effect(means.divergence / means.predicted)

    def pull_effect(self, p: float = 0.0) -> Effect:
        """What a pull to the start adds to the loss of held-out tokens (nats a token), with the
        fraction p dropped by DARE, or nothing where p is 0; paired by part of the text.
        """
        if p:
            rows = self.table[(self.table.method == "unbiased") & (self.table.p == p)]
            losses = rows.groupby(["change", "segment"]).loss.mean()
        else:
            losses = self.tunings.set_index(["change", "segment"]).loss_after.sort_index()
        return paired_effect(after=losses["pulled"], before=losses["large"])

    def kept_table(self, changes: Sequence[Change]) -> pd.DataFrame:
        """Means over parts: a row for each change and p, a column for each method."""
        means = self.by_part.groupby(["change", "p", "method"]).mean().unstack("method")
        rows = means.loc[list(changes), list(METHODS)].rename(columns=METHODS)
        table: pd.DataFrame = rows.reset_index()
        return table

    def loss_table(self) -> pd.DataFrame:
        """Mean losses over parts: a row for each change, before and after the fine-tuning and with
        what DARE and one q* for the whole model leave of it at the largest p.
        """
        rows = self.table[self.table.p == self.table.p.max()]
        dropped = rows.groupby(["change", "method"]).loss.mean().unstack("method")
        whole = self.tunings.groupby("change")[["loss_before", "loss_after"]].mean()
        columns = {"loss_before": "start", "loss_after": "fine-tuned"}
        columns |= {name: text for name, text in METHODS.items() if name != "local"}
        table: pd.DataFrame = whole.join(dropped)[list(columns)].rename(columns=columns)
        return table.reset_index()
