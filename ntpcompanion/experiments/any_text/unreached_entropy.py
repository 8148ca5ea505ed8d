"""What gradient descent does on tables whose entropy it cannot reach: floors and directions."""

from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.linear.dynamics.excess_bounds import excess_lower_bound, penalized_minima
from ntpcompanion.linear.dynamics.table_flow import gradient_flow
from ntpcompanion.linear.separability.implied_table import Case, ImpliedTable, implied_table
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream

Numbers = tuple[float, ...]


class Plan(experiment.Plan):
    """Tables of two-word contexts; the embedding of a context is the sum of those of its words at
    their positions.
    """

    words: Annotated[int, Field(ge=2, description="of the contexts, independent embeddings")]
    vocab_size: Annotated[int, Field(ge=3, description="V, tokens that can follow")]
    tables: Annotated[int, Field(ge=1, description="that are neither separable nor minimized")]
    log_times: Annotated[
        Numbers, Field(min_length=2, description="log t of gradient flow from 0, increasing")
    ]
    seed: Annotated[int, Field(ge=0, description="of contexts and distributions")]


class Course(experiment.Result):
    """One table."""

    contexts: Annotated[int, Field(description="m")]
    pairs: Annotated[int, Field(description="pairs of a context and a token in the supports")]
    added: Annotated[int, Field(description="pairs that the implied table adds")]
    entropy: Annotated[float, Field(description="of the table, nats")]
    floor: Annotated[float, Field(description="the entropy of the implied table, nats")]
    reached: Annotated[float, Field(description="loss at the end of BFGS on the table, nats")]
    bound: Annotated[
        float, Field(description="of one certificate: a lower bound of the floor, nats")
    ]
    cosines: Annotated[Numbers, Field(description="of W(t) − W* with W^mm of the implied table")]
    holds: Annotated[bool, Field(description="whether all proofs hold")]


class Result(experiment.Result):
    """The tables, and how many were drawn for them."""

    courses: tuple[Course, ...]
    drawn: Annotated[int, Field(ge=1, description="tables, with those that are separable")]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each table, with the `error` of the floor in nats."""
        table = table_of(self.courses)
        table["error"] = (table.reached - table.floor).abs()
        table["gap"] = table.floor - table.entropy
        return table


def run(plan: Plan) -> Result:
    """Compare the floor with the end of a quasi-Newton method that knows nothing of the theory, and
    follow gradient flow.

    Parameters
    ----------
    plan
        how many tables of how many words, and the times of the flow.

    Returns
    -------
    Result
        for each table its floor, the loss that BFGS reaches, and cosines along the flow.

    Notes
    -----
    Half a second a table.

    Examples
    --------
    >>> from ntpcompanion.experiments import unreached_entropy
    >>> plan = {"words": 3, "vocab_size": 4, "tables": 1, "log_times": (5.0, 50.0), "seed": 0}
    >>> result = unreached_entropy.run(unreached_entropy.Plan(**plan))
    >>> bool(result.table.error[0] < 1e-8)
    True
    """
    courses: list[Course] = []
    drawn = 0
    while len(courses) < plan.tables:
        table = pair_table(plan, drawn)
        drawn += 1
        implied = implied_table(table)
        if implied.support.certificates and implied.case is Case.IMPLIED_TABLE:
            courses.append(_course(plan, implied))
    return Result(courses=tuple(courses), drawn=drawn)


def pair_table(plan: Plan, draw: int) -> ContextTable:
    """A table of some of the pairs of words, with random supports of one to V − 2 tokens."""
    rng, n = stream(plan.seed, f"table {draw}"), plan.words
    m = int(rng.integers(n + 2, n * n + 1))
    first, second = np.divmod(rng.permutation(n * n)[:m], n)
    size = int(rng.integers(1, plan.vocab_size - 1))
    drawn = ContextTable.random(m, plan.vocab_size, size, 1, rng)
    return ContextTable(pair_embeddings(first, second, n), drawn.next_token, drawn.weight)


def pair_embeddings(first: np.ndarray, second: np.ndarray, words: int) -> np.ndarray:
    """(m, 2 words): the sum of the embeddings of both words at their positions, all of which are
    orthogonal.
    """
    return np.hstack([np.eye(words)[first], np.eye(words)[second]])


def _course(plan: Plan, implied: ImpliedTable) -> Course:
    table = implied.original
    direction: Any = solve_ntp_svm(implied.table).weights  # not None: that table is separable
    grown = gradient_flow(table, plan.log_times).weights - implied.finite_part
    products = np.tensordot(grown, direction, 2)
    lengths = np.linalg.norm(grown, axis=(1, 2)) * np.linalg.norm(direction)
    return Course(
        contexts=table.num_contexts,
        pairs=int(table.support_sizes.sum()),
        added=int(implied.support.mask.sum() - table.support_sizes.sum()),
        entropy=table.entropy,
        floor=implied.entropy,
        reached=table.cross_entropy(penalized_minima(table, [0.0])[0]),
        bound=table.entropy + excess_lower_bound(table, implied.support.certificates[0]),
        cosines=tuple(products / lengths),
        holds=implied.verify(),
    )
