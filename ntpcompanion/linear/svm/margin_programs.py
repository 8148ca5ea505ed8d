"""The max-margin programs of definition 3 of Thrampoulidis 2024, written out in the V·d entries of
W for general solvers of convex programs: for small tables, and as a reference for faster methods.

cvxpy is imported inside of the functions: it takes a second, and few need it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from ntpcompanion.checks import checked
from ntpcompanion.linear.tables.contexts import ContextTable


@dataclass(frozen=True, eq=False)
class ProgramAnswer:
    """A solution W (V, d); its multipliers as a matrix Γ (m, V), in which each constraint adds its
    multiplier to the column of its anchor and takes it from that of its token, so that rows sum to
    0; and the iterations that the solver reports.
    """

    weights: Float[np.ndarray, "V d"]
    dual: Float[np.ndarray, "m V"]
    iterations: int


def least_frobenius_norm(table: ContextTable) -> ProgramAnswer | None:
    """Minimize ½‖W‖_F² subject to ties and margins, by Clarabel; None if the solver ends
    without a solution, as where no W is feasible. O(V d) unknowns.

    The solver's tolerances are absolute: embeddings should have lengths near 1, from 1e-3 to 1e4.
    """
    import cvxpy as cp

    return _solve(
        table,
        lambda W: 0.5 * cp.sum_squares(W),
        cp.CLARABEL,
        tol_gap_abs=1e-10,
        tol_gap_rel=1e-10,
        tol_feas=1e-10,
    )


def least_max_norm(table: ContextTable) -> ProgramAnswer | None:
    """Minimize max |W_zi| subject to ties and margins, a linear program, by HiGHS; None if the
    solver ends without a solution, as where no W is feasible. A minimizer need not be the only one.
    O(V d) unknowns.
    """
    import cvxpy as cp

    return _solve(
        table,
        lambda W: cp.max(cp.abs(W)),
        cp.HIGHS,
        primal_feasibility_tolerance=1e-10,
        dual_feasibility_tolerance=1e-10,
    )


@checked
def constraint_pairs(
    table: ContextTable,
) -> tuple[Int[np.ndarray, "3 ties"], Int[np.ndarray, "3 margins"]]:
    """(context, anchor, token) of each tie and of each margin: against the anchor, the first
    token of the support of the context, so that no constraint is a sum of others.

    Parameters
    ----------
    table
        the contexts.

    Returns
    -------
    two arrays
        of shape (3, number of ties) and (3, number of margins): rows are context, anchor, token;
        columns are constraints.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, constraint_pairs
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> ties, margins = constraint_pairs(table)
    >>> ties.T.tolist()
    [[0, 0, 1]]
    >>> margins.T.tolist()
    [[0, 0, 2], [1, 2, 0], [1, 2, 1]]
    """
    support = table.support.toarray()
    anchor = support.argmax(axis=1)
    rows, tokens = np.nonzero(support)
    inner = tokens != anchor[rows]
    outside, others = np.nonzero(~support)
    return np.stack([rows, anchor[rows], tokens])[:, inner], np.stack(
        [outside, anchor[outside], others]
    )


def _solve(
    table: ContextTable, objective: Callable[..., Any], solver: str, **options: float
) -> ProgramAnswer | None:
    import cvxpy as cp

    ties, margins = constraint_pairs(table)
    W: Any = cp.Variable((table.vocab_size, table.dim))
    logits = table.embeddings @ W.T
    constraints = [logits[margins[0], margins[1]] - logits[margins[0], margins[2]] >= 1]
    if ties.shape[1]:
        constraints.append(logits[ties[0], ties[1]] - logits[ties[0], ties[2]] == 0)
    problem: Any = cp.Problem(cp.Minimize(objective(W)), constraints)
    try:
        problem.solve(solver=solver, **options)
    except cp.SolverError:
        return None
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        return None
    dual = np.zeros((table.num_contexts, table.vocab_size))
    # cvxpy adds multipliers of equalities to the objective, and subtracts those of "at least"
    for (rows, anchors, tokens), constraint, sign in zip(
        (margins, ties), constraints, (1.0, -1.0), strict=False
    ):
        np.add.at(dual, (rows, anchors), sign * constraint.dual_value)
        np.add.at(dual, (rows, tokens), -sign * constraint.dual_value)
    return ProgramAnswer(W.value, dual, int(problem.solver_stats.num_iters or 0))
