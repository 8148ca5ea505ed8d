"""When is the SVM of the key-query matrix the next-token SVM of the queries?"""

from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from ntpcompanion.attention.bridge import attend_to_vocabulary, centred, next_token_table
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

DISTORTIONS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)  # of the simplex; entries of N(0, 1/9) times this
WORDS, CONTEXTS, DIM = 6, 8, 4


class Plan(experiment.Plan):
    """Tables of six words and eight contexts in four dimensions."""

    tables: Annotated[int, Field(ge=2, description="of random contexts")]
    seed: Annotated[int, Field(ge=0, description="of contexts and words")]


class Difference(experiment.Result):
    """Both SVMs of one table."""

    table: int
    distortion: Annotated[float, Field(description="of the words, which form a simplex at 0")]
    difference: Annotated[float, Field(description="of the decoders, relative, Frobenius")]


class Result(experiment.Result):
    """Differences of the two SVMs."""

    rows: tuple[Difference, ...]

    @property
    def table(self) -> pd.DataFrame:
        """Relative differences: a row for each distortion, a column for each table."""
        table = table_of(self.rows)
        return table.pivot(index="distortion", columns="table", values="difference")

    @property
    def largest(self) -> Effect:
        """The difference at the largest distortion, mean over tables."""
        return mean_effect(self.table.loc[DISTORTIONS[-1]])


def run(plan: Plan) -> Result:
    """Solve both SVMs for random tables, with words that are more and more distorted.

    Returns the differences of the decoders, which are zero for words on a regular simplex.

    Examples
    --------
    >>> from ntpcompanion.experiments.attention import attention_bridge
    >>> found = attention_bridge.run(attention_bridge.Plan(tables=2, seed=0))
    >>> bool(found.table.loc[0.0].max() < 1e-5), found.largest.mean > 0.1
    (True, True)
    """
    rows = tuple(row for table in range(plan.tables) for row in _differences(plan, table))
    return Result(rows=rows)


def _differences(plan: Plan, table: int) -> list[Difference]:
    rng, rows = stream(plan.seed, f"tables {table}"), []
    contexts, teacher = (rng.standard_normal((n, DIM)) for n in (CONTEXTS, WORDS))
    targets = (contexts @ teacher.T).argmax(axis=1)
    decoder = np.asarray(
        solve_ntp_svm(next_token_table(contexts, targets, WORDS), tol=1e-12).weights
    )
    noise = rng.standard_normal((WORDS, 9))
    for distortion in DISTORTIONS:
        words = np.eye(WORDS, 9) + distortion * noise / np.sqrt(9) + 1.0
        W = np.asarray(attend_to_vocabulary(words, contexts, targets).weights)
        apart = float(np.linalg.norm(centred(words) @ W - decoder) / np.linalg.norm(decoder))
        rows.append(Difference(table=table, distortion=distortion, difference=apart))
    return rows
