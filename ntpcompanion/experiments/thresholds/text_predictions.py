"""Recorded thresholds of the beginnings of a text beside their predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ntpcompanion.experiments.thresholds import shuffled_text, text_crossing, text_threshold
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, estimate, mean_effect

TextRuns = Sequence[Run[text_crossing.Plan, text_crossing.Result]]
ShuffledRuns = Sequence[Run[shuffled_text.Plan, shuffled_text.Result]]
PredictedRuns = Sequence[Run[text_threshold.Plan, text_threshold.Result]]


@dataclass(frozen=True, eq=False)
class TextPredictions:
    """What `read_texts` returns.

    Fields
    ------
    table
        a row for each number of words: thresholds d/m of the text and of the shuffled text, their
        predictions, and standard errors.
    replicates
        draws of each threshold, at least.
    """

    table: pd.DataFrame
    replicates: int

    @property
    def ratio(self) -> pd.Series:
        """The threshold of the text over that of the shuffled text."""
        return self.table["text"] / self.table["shuffled"]

    @property
    def smallest_ratio(self) -> Effect:
        """The smallest `ratio`."""
        errors = self.ratio * np.hypot(
            self.table["±"] / self.table["text"], self.table["± "] / self.table["shuffled"]
        )
        error = errors.iloc[int(self.ratio.argmin())]
        return estimate(self.ratio.min(), error, self.replicates)

    @property
    def long_text(self) -> Effect:
        """Measurement over prediction, weighted mean of all but the shortest text."""
        longer = self.table.iloc[1:]
        weight = longer["±   "] ** -2
        mean = (weight * longer["measured / predicted"]).sum() / weight.sum()
        return estimate(mean, weight.sum() ** -0.5, self.replicates)

    @property
    def worst(self) -> Effect:
        """Largest relative difference of measurement and prediction."""
        off = (self.table["measured / predicted"] - 1).abs()
        error = self.table["±   "].iloc[int(off.argmax())]
        return estimate(off.max(), error, self.replicates)


def read_texts(
    crossings: TextRuns, shuffled: ShuffledRuns, thresholds: PredictedRuns
) -> TextPredictions:
    """Read recorded runs of `text_crossing`, `shuffled_text` and `text_threshold`.

    Parameters
    ----------
    crossings, shuffled, thresholds
        of the three records, at least two runs for each number of words.

    Returns
    -------
    TextPredictions
        thresholds and predictions by the number of words.

    Raises
    ------
    ValueError
        a single run for some number of words.

    Examples
    --------
    >>> from ntpcompanion.experiments import read_texts, shuffled_text
    >>> from ntpcompanion.experiments import text_crossing, text_threshold
    >>> from ntpcompanion.recorded import Run
    >>> def tasks(kind, **more):
    ...     shape = {"num_words": 60, "vocab_size": 8, "context_length": 1, **more}
    ...     plans = [kind.Plan.from_json({**shape, "seed": seed}) for seed in (0, 1)]
    ...     return [Run(plan, kind.run(plan)) for plan in plans]
    >>> size = {"num_tokens": 3, "draws": 200, "iterations": 10}
    >>> runs = tasks(text_crossing), tasks(shuffled_text), tasks(text_threshold, **size)
    >>> found = read_texts(*runs)
    >>> found.table.index.tolist(), found.replicates, bool(found.ratio[60] > 1)
    ([60], 2, True)
    """
    by_words, shuffles, saddles = (_by_words(crossings), _by_words(shuffled), _by_words(thresholds))
    table = pd.DataFrame(index=by_words.index)
    table["contexts"] = [runs[0].contexts for runs in shuffles]
    table["predicted, shuffled"] = [runs[0].predicted for runs in shuffles]
    for label, error, runs in (("text", "±", by_words), ("shuffled", "± ", shuffles)):
        table[label], table[error] = zip(*runs.map(text_crossing.mean_crossing), strict=True)
    means = [mean_effect([run.saddle for run in runs]) for runs in saddles]
    table["saddle"], table["±  "] = [one.mean for one in means], [one.stderr for one in means]
    table["two tokens"] = [runs[0].two_tokens for runs in saddles]
    table["predicted"] = table[["saddle", "two tokens"]].max(axis=1)
    table["measured / predicted"] = table["text"] / table["predicted"]
    unsure = table["±  "].where(table["saddle"] > table["two tokens"], 0.0)
    parts = table["±"] / table["text"], unsure / table["predicted"]
    table["±   "] = table["measured / predicted"] * np.hypot(*parts)
    for name, prediction in (("text", "predicted"), ("shuffled", "predicted, shuffled")):
        above = table[name] - table[prediction]
        table[f"{name}: above (contexts)"] = above * table["contexts"]
    return TextPredictions(table, int(shuffles.map(len).min()))


def _by_words(tasks: Sequence[Run[Any, Any]]) -> pd.Series:
    """The results for each number of words."""
    results, words = [task.result for task in tasks], [task.plan.num_words for task in tasks]
    return pd.Series(results, index=pd.Index(words, name="num_words")).groupby(level=0).agg(list)
