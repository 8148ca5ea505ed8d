"""At how many dimensions does the beginning of a text become separable?"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.thresholds.text_plan import TextPlan, read_tokens
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.linear.thresholds.crossing import separability_crossing
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run
from ntpcompanion.statistics.effects import Effect, estimate
from ntpcompanion.validation import require

INPUTS = ("text",)  # fields of a plan that name files


class Plan(TextPlan):
    """The beginning of a text as a table of contexts, with N(0, 1) embeddings of m coordinates."""

    seed: Annotated[int, Field(ge=0, description="of the embeddings")]


class Sides(experiment.Result):
    """The two proved sides of the dimension at which a table becomes separable."""

    contexts: Annotated[int, Field(ge=1, description="m, distinct contexts")]
    separable_from: Annotated[
        int | None, Field(description="smallest d proved separable; None if there is none")
    ]
    not_separable_to: Annotated[
        int, Field(ge=0, description="largest d proved not separable; 0 if there is none")
    ]
    text_sha256: Annotated[str, Field(description="hash of the whole text")]

    @property
    def ratio(self) -> float:
        """d/m in the middle between the two sides."""
        return (self.not_separable_to + self._upper) / 2 / self.contexts

    @property
    def half_width(self) -> float:
        """Half the distance of the two sides, in d/m."""
        return (self._upper - self.not_separable_to) / 2 / self.contexts

    @property
    def decided(self) -> bool:
        """Whether no dimension between the two sides is undecided."""
        return self._upper - self.not_separable_to == 1

    @property
    def _upper(self) -> int:
        return self.separable_from or self.contexts + 1


class Result(Sides):
    """Where a text becomes separable, and how sparse it is."""

    mean_support: Annotated[float, Field(ge=1, description="mean of S_j over the contexts, tokens")]


def run(plan: Plan) -> Result:
    """Find by bisection the number of coordinates of the embeddings at which the text's table
    becomes separable (Thrampoulidis 2024, equation 6).

    Returns where separability begins, with a proof on both sides. Cost log2(m) times that of
    `check_separability`: minutes at m = 2000.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError
        As `read_tokens` and `ContextTable.from_tokens`.

    Examples
    --------
    >>> from ntpcompanion.experiments.thresholds import text_crossing
    >>> shape = {"num_words": 30, "vocab_size": 8, "context_length": 1}
    >>> found = text_crossing.run(text_crossing.Plan(**shape, seed=0))
    >>> found.contexts, found.decided, 0 < found.ratio <= 1
    (7, True, True)
    """
    tokens, text_sha256 = read_tokens(plan)
    shape = tokens, plan.vocab_size, plan.context_length
    # a first table of one coordinate tells m
    sizes = ContextTable.from_tokens(*shape, 1, stream(plan.seed, "size"))
    table = ContextTable.from_tokens(*shape, sizes.num_contexts, stream(plan.seed, "crossing"))
    crossing = separability_crossing(table)
    return Result(
        contexts=table.num_contexts,
        mean_support=float(table.support_sizes.mean()),
        separable_from=crossing.separable_from,
        not_separable_to=crossing.not_separable_to,
        text_sha256=text_sha256,
    )


def mean_crossing(results: Sequence[Sides]) -> tuple[float, float]:
    """The mean crossing d/m of several draws of one table, and its standard error.

    The scatter of the draws is joined with the mean half distance of their two sides. Raises
    ValueError for fewer than two draws.
    """
    if len(results) < 2:
        raise ValueError(
            f"`results` must hold at least 2 draws to estimate an error, got {len(results)}."
        )
    ratios = [result.ratio for result in results]
    scatter = np.std(ratios, ddof=1) / np.sqrt(len(ratios))
    unknown = np.mean([result.half_width for result in results])
    return float(np.mean(ratios)), float(np.hypot(scatter, unknown))


def lengths_table(tasks: Sequence[Run[Plan, Result]]) -> pd.DataFrame:
    """Recorded runs, a row for each number of `words`, with the mean crossing `d/m` and its
    `error`.
    """
    rows = []
    for words in sorted({task.plan.num_words for task in tasks}):
        results = [task.result for task in tasks if task.plan.num_words == words]
        sizes = (words, results[0].contexts, results[0].mean_support)
        rows.append((*sizes, *mean_crossing(results)))
    columns = ["words", "contexts", "tokens that follow, mean", "d/m", "error"]
    return pd.DataFrame(rows, columns=columns)


def length_slope(tasks: Sequence[Run[Plan, Result]]) -> Effect:
    """By how much d/m rises for each doubling of the text: least squares for each seed, whose
    scatter is joined with what is undecided. Raises ValueError unless there is a run for each of
    two seeds or more and two lengths or more.
    """
    keys = [(task.plan.seed, task.plan.num_words) for task in tasks]
    index = pd.MultiIndex.from_tuples(keys, names=["seed", "words"])
    ratios = pd.Series([task.result.ratio for task in tasks], index).unstack()
    widths = pd.Series([task.result.half_width for task in tasks], index).unstack()
    require(
        min(ratios.shape) > 1 and not ratios.isna().any(axis=None),
        "`tasks` must hold a run of each seed at each number of words, of at least two each.",
    )
    doublings = np.log2(ratios.columns.to_numpy(float))
    doublings -= doublings.mean()
    weights = doublings / (doublings**2).sum()
    slopes = (ratios * weights).sum(axis=1)
    unknown = (widths * np.abs(weights)).sum(axis=1).mean()
    return estimate(slopes.mean(), float(np.hypot(slopes.sem(), unknown)), len(slopes))
