"""Is the decoder of least norm the same by every definition, and how does its margin depend on the
support size?
"""

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import Field
from scipy.linalg import null_space
from scipy.optimize import nnls

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.linear.separability.compatibility import check_compatibility
from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.svm.margin_programs import constraint_pairs
from ntpcompanion.linear.svm.next_token_svm import NTPSVMSolution, solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream


class Plan(experiment.Plan):
    """Random tables of one shape, and one with every support size."""

    num_contexts: Annotated[int, Field(ge=2, description="m")]
    dim: Annotated[int, Field(ge=2, description="d, no less than m")]
    vocab_size: Annotated[int, Field(ge=3, description="V, tokens")]
    support_size: Annotated[int, Field(ge=1, description="S_j of every context, tokens")]
    draws: Annotated[int, Field(ge=2, description="tables for each support size")]
    seed: Annotated[int, Field(ge=0, description="of embeddings, distributions and supports")]

    def table(self, name: str) -> ContextTable:
        """A random table."""
        sizes = self.num_contexts, self.vocab_size, self.support_size, self.dim
        return ContextTable.random(*sizes, stream(self.seed, name))


class Margin(experiment.Result):
    """The least norm on one table."""

    S: Annotated[int, Field(description="support size, tokens")]
    margin: Annotated[float, Field(description="at norm 1")]
    gap: Annotated[float, Field(description="relative duality gap")]


class Result(experiment.Result):
    """Distances of decoders are relative, in the Frobenius norm."""

    routes: Annotated[float, Field(description="largest, of W^mm by three definitions")]
    orthogonal: Annotated[float, Field(description="part of W^mm in F")]
    finite_moves: Annotated[float, Field(description="of W* for other probabilities")]
    binary: Annotated[
        tuple[float, ...], Field(description="of W^mm from the SVM of two classes, by table")
    ]
    margins: tuple[Margin, ...]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each table of some support size."""
        return table_of(self.margins)

    @property
    def by_size(self) -> pd.DataFrame:
        """Of the margin at each support size its `mean` and standard error, `sem`."""
        return self.table.groupby("S").margin.agg(["mean", "sem"]).reset_index()


def run(plan: Plan) -> Result:
    """Solve the next-token SVM by its dual, as a quadratic program and as the widest margin of norm
    1, and compare it with closed forms where there are any.

    Returns the distances, and the margin of random tables of every support size. Cost that of
    `solve_ntp_svm` for `draws` tables of each size.

    Raises
    ------
    ValueError
        a table that is not separable.

    Examples
    --------
    >>> from ntpcompanion.experiments import least_norm
    >>> sizes = {"num_contexts": 4, "dim": 6, "vocab_size": 4, "support_size": 2}
    >>> found = least_norm.run(least_norm.Plan(**sizes, draws=2, seed=0))
    >>> found.routes < 1e-3, found.by_size.S.tolist()
    (True, [1, 2, 3])
    """
    table = plan.table("routes")
    W, textbook = _solved(table, tol=1e-12), _solved(table, method="cvxpy")
    star, moved = (check_compatibility(each).finite_part for each in (table, _other(plan, table)))
    return Result(
        routes=max(_away(textbook, W), _away(_widest(table), W)),
        orthogonal=float(np.linalg.norm(project_onto_F(table, W)) / np.linalg.norm(W)),
        finite_moves=_away(moved, star),
        binary=tuple(_binary(plan, draw) for draw in range(plan.draws)),
        margins=tuple(_margins(plan)),
    )


def _weights(solution: NTPSVMSolution) -> Float[np.ndarray, "V d"]:
    if solution.weights is None:
        raise ValueError("A random table is not separable. Take another `seed`, or a larger `dim`.")
    return solution.weights


def _solved(table: ContextTable, **how: Any) -> Float[np.ndarray, "V d"]:
    return _weights(solve_ntp_svm(table, **how))


def _away(decoder: Float[np.ndarray, "V d"], goal: Float[np.ndarray, "V d"]) -> float:
    return float(np.linalg.norm(decoder - goal) / np.linalg.norm(goal))


def _other(plan: Plan, table: ContextTable) -> ContextTable:
    """The same supports with other probabilities and frequencies."""
    rng = stream(plan.seed, "other laws")
    p = (table.next_token > 0) * rng.uniform(0.05, 1, table.next_token.shape)
    weight = rng.dirichlet(np.full(plan.num_contexts, 5.0))
    return ContextTable(table.embeddings, p / p.sum(axis=1, keepdims=True), weight)


def _widest(table: ContextTable) -> Float[np.ndarray, "V d"]:
    """The decoder off F of norm 1 with the widest margin, scaled to margin 1, by a general
    solver.
    """
    import cvxpy as cp

    ties, margins = constraint_pairs(table)
    E, eye = table.embeddings, np.eye(table.vocab_size)
    spanning = [np.kron(eye[z] - eye[a], E[j]) for j, a, z in ties.T]
    free = null_space(np.reshape(spanning, (-1, table.vocab_size * table.dim)))
    rows = np.stack([np.kron(eye[a] - eye[v], E[j]) @ free for j, a, v in margins.T])
    x: Any
    x, smallest = cp.Variable(free.shape[1]), cp.Variable()
    program = cp.Problem(cp.Maximize(smallest), [rows @ x >= smallest, cp.norm(x) <= 1])
    program.solve(solver=cp.CLARABEL)
    return np.asarray(free @ x.value / smallest.value).reshape(table.vocab_size, table.dim)


def _binary(plan: Plan, draw: int) -> float:
    """Two words, one in each support: half of the SVM of two classes for each word, by nonnegative
    least squares.
    """
    rng = stream(plan.seed, f"one-hot {draw}")
    table = ContextTable.random(plan.num_contexts, 2, 1, plan.dim, rng)
    signed = table.embeddings * (1 - 2 * table.next_token[:, [1]])
    stacked = np.vstack([signed.T, np.ones(plan.num_contexts)])
    last = np.eye(plan.dim + 1)[-1]
    rest = last - stacked @ nnls(stacked, last)[0]
    half = -rest[:-1] / rest[-1] / 2
    return _away(np.stack([half, -half]), _solved(table, tol=1e-10))


def _margins(plan: Plan) -> Iterator[Margin]:
    for S in range(1, plan.vocab_size):
        for draw in range(plan.draws):
            rng = stream(plan.seed, f"margin {S} {draw}")
            table = ContextTable.random(plan.num_contexts, plan.vocab_size, S, plan.dim, rng)
            solution = solve_ntp_svm(table)
            margin = 1 / float(np.linalg.norm(_weights(solution)))
            yield Margin(S=S, margin=margin, gap=solution.duality_gap)
