"""A real language model: dimensions and directions of its states, its output matrix and W^mm."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ntpcompanion.experiments.real_model import output_matrix, support_collapse
from ntpcompanion.experiments.real_model.stored_table import StoredTable
from ntpcompanion.experiments.tasks import tasks_table
from ntpcompanion.linear import certified_gap, solve_ntp_svm
from ntpcompanion.statistics.effects import Effect, mean_effect, paired_effect

NULLS = {
    "none": "the model on the text",
    "shuffled": "other successors",
    "layer": "states of block 20",
    "rotated": "random basis",
}


@dataclass(frozen=True, eq=False)
class RealModelEffects:
    """Estimates over the parts of a text.

    Fields
    ------
    dimension_runs, matrix_runs
        of records of `state_dimensions` and of `output_matrix`.
    """

    dimension_runs: Iterable[Any]
    matrix_runs: Iterable[Any]

    @cached_property
    def sizes(self) -> pd.DataFrame:
        """A row for each run of `state_dimensions`, with the `ratio` d/m of the threshold."""
        table = tasks_table(self.dimension_runs)
        return table.assign(ratio=[result.ratio for result in table.result])

    @cached_property
    def by_part(self) -> pd.DataFrame:
        """The ratios, a row for each part of the text, a column for each kind of embeddings."""
        return self.sizes.pivot_table("ratio", "segment", "embeddings")

    @cached_property
    def matrices(self) -> list[output_matrix.Result]:
        """A result for each part of the text."""
        return [run.result for run in self.matrix_runs]

    @cached_property
    def compared(self) -> pd.DataFrame:
        """As `comparison_table`."""
        return output_matrix.comparison_table(self.matrices)

    @cached_property
    def descent(self) -> pd.DataFrame:
        """As `descent_table`."""
        return output_matrix.descent_table(self.matrices)

    @cached_property
    def loss(self) -> pd.DataFrame:
        """As `loss_table`."""
        return output_matrix.loss_table(self.matrices)

    def excess(self, prefix: str = "") -> float:
        """The mean loss over the floor, nats; with the prefix "own " of the model's own texts."""
        return float((self.loss[f"{prefix}inside"] + self.loss[f"{prefix}outside"]).mean())

    def ratio_of(self, embeddings: str, over: str) -> Effect:
        """The threshold of one kind of embeddings over that of another."""
        return mean_effect(self.by_part[embeddings] / self.by_part[over])

    def cosine(self, null: str = "none", column: str = "outside") -> pd.Series:
        """A column of `compared` by part of the text."""
        return self._of(null).set_index("part")[column]

    def _of(self, null: str) -> pd.DataFrame:
        return self.compared[self.compared.null == null]

    @property
    def near(self) -> Effect:
        """The cosine of the output matrix with W^mm."""
        return mean_effect(self.cosine())

    def nearer(self, column: str = "outside") -> Effect:
        """By how much a cosine is larger than with successors of contexts with the same end."""
        return paired_effect(self.cosine("none", column), self.cosine("same last token", column))

    @property
    def by_null(self) -> pd.DataFrame:
        """Means over parts of the text, a row for each null."""
        columns = ["outside", "outside_logits", "inside", "odds", "ordered"]
        return self.compared.groupby("null", sort=False)[columns].mean()

    @property
    def null_table(self) -> pd.DataFrame:
        """The same for readers."""
        names = ["SVM", "its logits", "W*", "log-odds", "in order"]
        shown = self.by_null.set_axis(names, axis=1).rename(index=NULLS)
        return shown.rename_axis("").reset_index()

    def descended(self, column: str) -> Effect:
        """A cosine with W^mm after the last step of descent from the model."""
        last = self.descent[self.descent.step == self.descent.step.max()]
        return mean_effect(last[last.start == "model"][column])

    @property
    def first_change(self) -> float:
        """The mean cosine of the first step from the model with W^mm."""
        first = self.descent[(self.descent.step == 1) & (self.descent.start == "model")]
        return float(first.change.mean())

    @property
    def undecided(self) -> np.ndarray:
        """Of each threshold, half of the dimensions between its proved sides."""
        return np.array([r.half_width * r.contexts for r in self.sizes.result])

    @property
    def moved(self) -> float:
        """Mean fraction of contexts that get other successors of contexts with the same end."""
        return float(self.sizes[self.sizes.embeddings == "same last token"].moved.mean())

    @property
    def texts(self) -> pd.DataFrame:
        """For each part of the text tokens, times, one_successor and entropy."""
        columns = ("tokens", "times", "one_successor", "entropy")
        return pd.DataFrame([{c: getattr(one, c) for c in columns} for one in self.matrices])

    @property
    def of_model(self) -> pd.Series:
        """Means of the numbers in `compared`, of the model on the text."""
        return self._of("none").drop(columns="null").mean()

    @property
    def log_time(self) -> float:
        """The logarithm of the time at which descent from the model meets a cosine of 0.9."""
        model = self._of("none")
        return float((model.norm / model.svm_norm).mean() / np.sqrt(1 / 0.9**2 - 1))


@dataclass(frozen=True, eq=False)
class CollapseEffects:
    """How much nearer states of contexts with equal supports are, over the parts of a text.

    Fields
    ------
    runs
        of a record of `support_collapse`, one for each part.
    """

    runs: Iterable[Any]

    @cached_property
    def results(self) -> list[support_collapse.Result]:
        """A result for each part of the text."""
        return [run.result for run in self.runs]

    @cached_property
    def by_layer(self) -> pd.DataFrame:
        """As `support_collapse.layer_table`."""
        return support_collapse.layer_table(self.results)

    def of_layer(self, name: str, layer: int | None = None) -> pd.Series:
        """A column of `by_layer` by part, of one layer; of the last by default."""
        chosen = self.by_layer.layer.max() if layer is None else layer
        return self.by_layer[self.by_layer.layer == chosen].set_index("part")[name]

    def difference(self, name: str = "matched", layer: int | None = None) -> Effect:
        """The mean of such a column."""
        return mean_effect(self.of_layer(name, layer))

    def fraction(self, layer: int | None = None) -> Effect:
        """The matched difference over the unmatched one, in a layer."""
        return mean_effect(self.of_layer("matched", layer) / self.of_layer("unmatched", layer))

    @cached_property
    def sizes(self) -> pd.DataFrame:
        """Contexts and pairs, the supports that these pairs have, how many pairs are matched,
        without and with logits, and by how much their affinity is larger before and after, a row
        for each part.
        """
        return pd.DataFrame(
            {
                "contexts": result.contexts,
                "one_successor": result.one_successor,
                "pairs": result.text.unmatched.pairs,
                "supports": result.text.unmatched.supports,
                "matched": result.text.matched.pairs,
                "matched_logits": result.text.matched_logits.pairs,
                "affinity": result.text.unmatched.affinity,
                "matched_affinity": result.text.matched.affinity,
            }
            for result in self.results
        )


def example_table(
    stored: StoredTable, contexts: int, shown: int, visible: Callable[[str], str]
) -> pd.DataFrame:
    """The `shown` first of so many contexts: what follows each, and its largest logit; tokens as
    `visible` shows them.
    """
    table, tokens = stored.table(contexts), stored.tokens(contexts)
    logits = table.embeddings @ stored.rows(contexts).T
    names = [visible(token) for token in tokens]
    followed = [np.flatnonzero(row) for row in table.support.toarray()[:shown]]
    return pd.DataFrame(
        {
            "context": [visible(context) for context in stored.contexts[:shown]],
            "followed by": [", ".join(names[z] for z in row[:6]) for row in followed],
            "largest logit": [names[z] for z in logits[:shown].argmax(axis=1)],
        }
    )


def live_table(stored: StoredTable, contexts: int, steps: int) -> pd.DataFrame:
    """Quantities and values for readers: the next-token SVM of so many contexts, and the descent
    of the model's output rows. Cost a second for 150 contexts and 300 steps.

    Raises ValueError for contexts that are not separable.
    """
    table, matrix = stored.table(contexts), stored.rows(contexts)
    solution = solve_ntp_svm(table)
    if solution.weights is None or solution.dual is None:
        raise ValueError(f"`contexts` = {contexts} are not separable. Take fewer contexts.")
    comparison = output_matrix.compare("none", table, matrix, solution.weights)
    first, later = output_matrix.follow(table, matrix, solution.weights, (1, steps))
    rows = {
        "contexts": table.num_contexts,
        "successors": table.vocab_size,
        "relative duality gap of the SVM": certified_gap(table, solution.dual),
        "cosine of the output rows with the SVM": comparison.outside,
        "pairs in order": comparison.ordered,
        "excess after 1 step (nats)": first.excess,
        f"excess after {steps} steps (nats)": later.excess,
        "cosine of the change with the SVM": later.change,
    }
    return pd.DataFrame(rows.items(), columns=["quantity", "value"])
