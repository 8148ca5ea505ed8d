"""How many rounds of communication does the blocked method need, by the number of blocks?"""

from itertools import count, islice
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.linear.svm.block_ascent import blocked_ascent
from ntpcompanion.linear.svm.next_token_svm import certified_gap
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.linear.tables.large_tables import planted_table
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, slope_within_seeds

BLOCKS = 1, 2, 4
SIZES = 48, 8, 2, 16  # m, V, S, d of the planted tables
LOCAL_STEPS, GAP = 40, 0.1  # of a block in a round; proved relative gap at which a run ends


class Plan(experiment.Plan):
    """Planted tables with 48 contexts, each solved with one, two and four blocks."""

    tables: Annotated[int, Field(ge=2, description="random tables")]
    most_rounds: Annotated[int, Field(ge=2, description="after which a run ends")]
    seed: Annotated[int, Field(ge=0, description="of the tables")]


class Result(experiment.Result):
    """Rounds until the proved gap is 0.1."""

    rounds: Annotated[
        tuple[tuple[int, ...], ...], Field(description="of each table, for each of `BLOCKS`")
    ]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each table, a column for each number of blocks."""
        names = [f"{blocks} block{'s' * (blocks > 1)}" for blocks in BLOCKS]
        return pd.DataFrame(self.rounds, columns=names)

    @property
    def power(self) -> Effect:
        """The power of the number of blocks with which the rounds grow."""
        rounds = np.log(np.array(self.rounds, dtype=float))
        return slope_within_seeds(np.broadcast_to(np.log(BLOCKS), rounds.shape), rounds)


def run(plan: Plan) -> Result:
    """Solve every table with every number of blocks, and count the rounds.

    Returns the rounds, `most_rounds` where the gap is not reached. Cost that of `blocked_ascent`,
    30 ms a round.

    Examples
    --------
    >>> from ntpcompanion.experiments import blocked_rounds
    >>> blocked_rounds.run(blocked_rounds.Plan(tables=2, most_rounds=2, seed=0)).rounds
    ((2, 2, 2), (2, 2, 2))
    """
    tables = [planted_table(*SIZES, stream(plan.seed, f"blocked {k}")) for k in range(plan.tables)]
    rounds = [tuple(_rounds(table, blocks, plan) for blocks in BLOCKS) for table in tables]
    return Result(rounds=tuple(rounds))


def _rounds(table: ContextTable, blocks: int, plan: Plan) -> int:
    path = blocked_ascent(table, blocks=blocks, local_steps=LOCAL_STEPS)
    reached = (
        number
        for number, gamma in zip(count(1), islice(path, plan.most_rounds - 1), strict=False)
        if certified_gap(table, gamma) <= GAP
    )
    return next(reached, plan.most_rounds)
