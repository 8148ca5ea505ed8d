"""Strict complementarity of the next-token SVM, on which the rate of gradient descent depends, and
the smallest tables with and without it.
"""

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import linprog
from scipy.sparse import coo_array, eye_array, hstack, vstack

from ntpcompanion.checks import NotNegative, checked
from ntpcompanion.linear.svm.next_token_svm import NTPSVMSolution
from ntpcompanion.linear.tables.contexts import ContextTable

# Margins that exceed 1 by less than this count as 1, and multipliers below it as zero: what
# `solve_ntp_svm` leaves open at a `tol` of 1e-12.
TIGHT = 1e-7


def complementarity_gap(table: ContextTable, solution: NTPSVMSolution) -> float:
    """How far complementarity is from failing: the smallest max(−Γ_jv, margin_jv − 1) over contexts
    j and tokens v off their supports, for the dual solution Γ of `solution` or, where that is zero,
    for the dual solution with the largest one.

    Complementary slackness makes one of the two numbers zero at the solution. Complementarity is
    strict if the other one is positive for every pair (j, v) and *some* dual solution Γ: no margin
    is 1 with a multiplier that is zero in all of them. The angle between gradient flow and W^mm
    then falls like 1 / log t; it need not otherwise.

    `solution` comes from the dual method of `solve_ntp_svm`, with a small `tol`. The gap is zero to
    its accuracy (1e-7) if complementarity is not strict, and infinite if all tokens are on all
    supports. Raises `ValueError` where `solution` has no weights or no dual, or is one of another
    table.
    """
    slack, multipliers = slack_and_multipliers(table, solution)
    outside = ~table.support.toarray()
    smallest = float(np.maximum(multipliers, slack)[outside].min(initial=np.inf))
    if smallest > TIGHT:
        return smallest
    tight = outside & (slack < TIGHT)
    others = float(slack[outside & ~tight].min(initial=np.inf))
    return min(others, _largest_multiplier(table, multipliers, tight))


def _largest_multiplier(
    table: ContextTable, multipliers: Float[np.ndarray, "m V"], tight: Bool[np.ndarray, "m V"]
) -> float:
    """The largest possible value of the smallest multiplier of the margins of 1, over all dual
    solutions.

    They are Γ + Δ with Eᵀ Δ = 0 and Δ 1 = 0, for one Γ, and zero where a margin exceeds 1. So this
    is a linear program in Δ and the smallest multiplier t: maximize t with −(Γ + Δ)_jv ≥ t.
    """
    j, v = np.nonzero(table.support.toarray() | tight)
    entry, dim = np.arange(len(j)), table.dim
    rows = (v[:, None] * dim + np.arange(dim)).ravel()  # of Eᵀ Δ, one for each token and coordinate
    moments = coo_array((table.embeddings[j].ravel(), (rows, entry.repeat(dim))))
    sums = coo_array((np.ones(len(j)), (j, entry)))
    equations = vstack([moments, sums])
    of_tight = eye_array(len(j), format="csr")[tight[j, v]]
    solved = linprog(
        np.append(np.zeros(len(j)), -1.0),
        A_ub=hstack([of_tight, np.ones((of_tight.shape[0], 1))]),
        b_ub=multipliers[tight],
        A_eq=hstack([equations, np.zeros((equations.shape[0], 1))]),
        b_eq=np.zeros(equations.shape[0]),
        bounds=(None, None),
    )
    return max(0.0, float(solved.x[-1]))


@checked
def slack_and_multipliers(
    table: ContextTable, solution: NTPSVMSolution
) -> tuple[Float[np.ndarray, "m V"], Float[np.ndarray, "m V"]]:
    """margin_jv − 1 and −Γ_jv; only entries off the supports have a meaning.

    Raises ValueError for a solution without weights or dual, or of another table.
    """
    if solution.weights is None or solution.dual is None:
        raise ValueError(
            "`solution` must have `weights` and `dual`, got a verdict of "
            f"{solution.verdict.name} without one of them. Solve a separable table by the dual "
            "method."
        )
    support = table.support.toarray()
    if solution.dual.shape != support.shape:
        raise ValueError(
            f"`solution` must be one of `table`: its dual has shape {solution.dual.shape}, not "
            f"{support.shape}."
        )
    logits = table.embeddings @ solution.weights.T
    lowest = np.where(support, logits, np.inf).min(axis=1, keepdims=True)
    return lowest - logits - 1, -solution.dual


@checked
def tilted_pair(tilt: NotNegative) -> ContextTable:
    """Two one-hot contexts in the plane, equally frequent: (1, −tilt) is followed by the first of
    two tokens, (−1, −1) by the second.

    For every tilt ≥ 0 the solution of the next-token SVM has the rows (½, 0) and (−½, 0) and both
    margins are 1. The multiplier of the second margin is tilt / (2 (1 + tilt)), so the table with
    tilt 0 is not strictly complementary. Raises ValueError if `tilt` is negative: the solution is
    another one then.
    """
    embeddings = np.array([[1.0, -tilt], [-1.0, -1.0]])
    return ContextTable(embeddings, np.eye(2), np.full(2, 0.5))
