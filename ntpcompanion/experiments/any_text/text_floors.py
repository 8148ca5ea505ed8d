"""How far from the entropy of a text must the loss stay, by the dimension of the embeddings?"""

from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.experiments.thresholds.text_plan import TextPlan, read_tokens
from ntpcompanion.languages.text.counting import count_contexts
from ntpcompanion.linear.dynamics.descent import descend_from_zero
from ntpcompanion.linear.separability.implied_table import implied_table
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream

INPUTS = ("text",)  # fields of a plan that name files


class Plan(TextPlan):
    """The beginning of a text, with N(0, 1) embeddings of several dimensions."""

    ratios: Annotated[
        tuple[Annotated[float, Field(gt=0, le=1)], ...],
        Field(min_length=1, description="d/m, where d is rounded up"),
    ]
    draws: Annotated[int, Field(ge=1, description="of the embeddings")]
    steps: Annotated[int, Field(ge=1, description="of gradient descent with step 1/(2L)")]
    seed: Annotated[int, Field(ge=0, description="of the embeddings")]


class Floor(experiment.Result):
    """One dimension of one draw."""

    draw: int
    ratio: Annotated[float, Field(description="d/m as planned")]
    dim: Annotated[int, Field(description="d")]
    floor: Annotated[float, Field(description="the infimum of the loss, nats")]
    descended: Annotated[float, Field(description="the loss after gradient descent, nats")]
    added: Annotated[float, Field(description="fraction of the pairs off support that are added")]
    smallest: Annotated[
        float, Field(description="log of the smallest positive probability of the implied table")
    ]


class Result(experiment.Result):
    """The text's entropy, and all floors."""

    contexts: Annotated[int, Field(description="m")]
    entropy: Annotated[float, Field(description="nats")]
    floors: tuple[Floor, ...]
    text_sha256: Annotated[str, Field(description="hash of the whole text")]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each dimension and draw."""
        return table_of(self.floors)


def run(plan: Plan) -> Result:
    """Solve for the implied table of a text at several dimensions, and descend for comparison.

    Parameters
    ----------
    plan
        the text, the dimensions, and how often embeddings are drawn.

    Returns
    -------
    Result
        the infimum of the loss at every dimension, and what gradient descent has reached.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError
        as `read_tokens` and `count_contexts`.

    Notes
    -----
    For 131 contexts and V = 32 below a second at most dimensions, and 3 s just below the threshold.

    Examples
    --------
    >>> from ntpcompanion.experiments import text_floors
    >>> sizes = {"num_words": 100, "vocab_size": 12, "context_length": 1, "ratios": (0.2, 1.0)}
    >>> result = text_floors.run(text_floors.Plan(**sizes, draws=1, steps=10, seed=0))
    >>> low, high = result.table.floor - result.entropy
    >>> bool(low > 0.1), bool(abs(high) < 1e-9)
    (True, True)
    """
    tokens, sha256 = read_tokens(plan)
    counts = count_contexts(tokens, plan.vocab_size, [plan.context_length])[0]
    m = len(counts.contexts)
    floors = []
    for draw in range(plan.draws):
        rng = stream(plan.seed, f"embeddings {draw}")
        embeddings = rng.standard_normal((m, m))
        for ratio in plan.ratios:
            d = int(np.ceil(round(ratio * m, 9)))  # 0.55 · 100 is no more than 55
            table = ContextTable(embeddings[:, :d], counts.distributions, counts.frequency)
            floors.append(_floor(table, draw, ratio, plan.steps))
    return Result(contexts=m, entropy=table.entropy, floors=tuple(floors), text_sha256=sha256)


def _floor(table: ContextTable, draw: int, ratio: float, steps: int) -> Floor:
    implied = implied_table(table)
    off = ~table.support.toarray()
    last = descend_from_zero(table, steps, [steps])[-1]
    positive = implied.next_token[implied.support.mask]
    return Floor(
        draw=draw,
        ratio=ratio,
        dim=table.dim,
        floor=implied.entropy,
        descended=table.cross_entropy(last),
        added=float(implied.support.mask[off].mean()),
        smallest=float(np.log(max(positive.min(), np.finfo(float).tiny))),
    )
