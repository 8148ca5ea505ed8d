"""What a page reads from the runs of `pruned_transformer` and `pruned_recall`."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from ntpcompanion.adaptation.pruning import Rule
from ntpcompanion.experiments.adaptation.pruned_recall import Ability
from ntpcompanion.experiments.adaptation.pruned_transformer import Part, Task
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect

WrongAnswers = Literal["all_tokens", "candidates"]
ASKED: dict[WrongAnswers, str] = {
    "all_tokens": "among all tokens",
    "candidates": "among answers of its kind",
}


@dataclass(frozen=True, eq=False)
class PrunedNetworks:
    """Estimates over networks.

    Fields
    ------
    runs
        of a record of `pruned_transformer` with several seeds.
    """

    runs: Iterable[Any]

    @cached_property
    def tolerated(self) -> Any:
        """The largest sparsity with at most 5 % loss, a row for each network, a column for each
        part and task.
        """
        return pd.DataFrame([run.result.tolerated() for run in self.runs])

    @cached_property
    def table(self) -> Any:
        """A row for each accuracy, with the `seed` of its network."""
        tables = [run.result.table.assign(seed=run.plan.seed) for run in self.runs]
        return pd.concat(tables, ignore_index=True)

    def earlier(self, first: tuple[Part, Task], second: tuple[Part, Task]) -> Effect:
        """Tolerated sparsity of the first less that of the second, paired by network."""
        return paired_effect(after=self.tolerated[first], before=self.tolerated[second])


@dataclass(frozen=True, eq=False)
class PrunedAnswers:
    """Estimates over facts.

    Fields
    ------
    runs
        of a record of `pruned_recall`, one for each kind of facts.
    """

    runs: Iterable[Any]

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each fact, rule, sparsity, ability and set of wrong `answers`: `margin`, and
        whether it is `right`.
        """
        rows = [
            (run.plan.kind, fact, each.rule, each.sparsity, each.ability, answers, margin)
            for run in self.runs
            for each in run.result.margins
            for answers in ASKED
            for fact, margin in zip(run.result.facts, getattr(each, answers), strict=True)
        ]
        names = ["kind", "fact", "rule", "sparsity", "ability", "answers", "margin"]
        table = pd.DataFrame(rows, columns=names)
        return table.assign(right=(table.margin > 0).astype(float))

    @cached_property
    def counts(self) -> pd.DataFrame:
        """One row a kind and one for all, with facts `asked`, answered by each ability, chosen
        `facts`, right `sums` and prompts of sums.
        """
        rows = [
            {"kind": run.plan.kind, "asked": run.result.asked, **run.result.answered}
            | {"facts": len(run.result.facts), "sums": run.result.sums}
            | {"sum prompts": run.plan.sums}
            for run in self.runs
        ]
        table = pd.DataFrame(rows)
        return pd.concat([table, table.sum(numeric_only=True).to_frame().T], ignore_index=True)

    @cached_property
    def survival(self) -> Any:
        """The fraction of sparsities above 0 at which an answer is right, a row for each kind and
        fact, a column for each rule, set of wrong answers and ability.
        """
        rows: Any = self.table[self.table.sparsity > 0]
        by = ["kind", "fact", "rule", "answers", "ability"]
        return rows.groupby(by).right.mean().unstack(["rule", "answers", "ability"])

    def lead(
        self,
        first: tuple[Rule, WrongAnswers, Ability],
        second: tuple[Rule, WrongAnswers, Ability],
    ) -> Effect:
        """Survival of the first less that of the second, paired by fact."""
        return paired_effect(after=self.survival[first], before=self.survival[second])

    def matched_lead(self, rule: Rule, caliper: float) -> Effect:
        """Survival of recall less that of copying, among all tokens, of pairs of facts of which the
        recall of the one and the copying of the other have the same margin before pruning, up to
        `caliper` nats: the pairs of least total difference.
        """
        start = self.table[(self.table.sparsity == 0) & (self.table.answers == "all_tokens")]
        margins = start.set_index(["ability", "kind", "fact"]).margin
        recall, copying = margins["recall"], margins["copying"]
        apart = np.abs(np.subtract.outer(recall.to_numpy(), copying.to_numpy()))
        row, column = linear_sum_assignment(np.minimum(apart, 10 * caliper))
        close = apart[row, column] <= caliper
        survival = self.survival[rule, "all_tokens"]
        after = survival["recall"].loc[recall.index[row[close]]].to_numpy()
        before = survival["copying"].loc[copying.index[column[close]]].to_numpy()
        return mean_effect(after - before)

    def curves(self, rule: Rule, answers: WrongAnswers) -> pd.DataFrame:
        """Fraction of right answers: a row for each sparsity, a column for each ability."""
        rows: Any = self.table[self.table.answers == answers]
        rows = rows[(rows.rule == rule) | (rows.sparsity == 0)]
        return pd.DataFrame(rows.groupby(["sparsity", "ability"]).right.mean().unstack())

    def tolerated_table(self, draws: int, seed: int) -> pd.DataFrame:
        """The sparsity at which accuracy, a line between grid points, falls by 5 % of that of the
        unpruned model: a row for each rule, set of wrong answers and ability, with the ends of a
        percentile bootstrap over facts.
        """
        fields = ["answers", "ability", "kind", "fact"]
        unpruned = self.table[self.table.sparsity == 0].set_index(fields).right.sort_index()
        rows: Any = self.table[self.table.sparsity > 0]
        by = ["rule", "answers", "ability"]
        cases = []
        for case, group in rows.groupby(by, sort=False):
            right = group.pivot(index=["kind", "fact"], columns="sparsity", values="right")
            right.insert(0, 0.0, unpruned.loc[case[1:]])
            rng = stream(seed, "facts of a bootstrap")
            values, x = right.to_numpy(), right.columns.to_numpy(dtype=float)
            samples = rng.integers(len(values), size=(draws, len(values)))
            again = [_crossing(x, values[sample].mean(0)) for sample in samples]
            low, high = np.quantile(again, [0.025, 0.975])
            cases.append((*case, _crossing(x, values.mean(0)), low, high))
        table = pd.DataFrame(cases, columns=[*by, "tolerated", "from", "to"])
        return table.assign(answers=table.answers.map(ASKED))


def _crossing(x: np.ndarray, y: np.ndarray) -> float:
    """Where the line through (x, y) first falls by 5 % of its start; the last x if it does not."""
    level = 0.95 * y[0]
    below = np.flatnonzero(y < level)
    if not len(below):
        return float(x[-1])
    after = below[0]
    fraction = (y[after - 1] - level) / (y[after - 1] - y[after])
    return float(x[after - 1] + fraction * (x[after] - x[after - 1]))
