"""Strict complementarity of the next-token SVM, on which the rate of gradient descent depends, and
the smallest tables with and without it.
"""

import numpy as np
from jaxtyping import Float

from ntpcompanion.linear.contexts import ContextTable
from ntpcompanion.linear.svm import NTPSVMSolution
from ntpcompanion.validation import as_number, check_instance


def complementarity_gap(table: ContextTable, solution: NTPSVMSolution) -> float:
    """The smallest max(−Γ_jv, margin_jv − 1) over contexts j and tokens v off their supports.

    Complementary slackness makes one of the two numbers zero at the solution. Complementarity is
    strict if the other one is positive for every pair (j, v): no margin is 1 with a multiplier of
    zero. The angle between gradient flow and W^mm then falls like 1 / log t; it need not otherwise.

    Parameters
    ----------
    table
        the contexts.
    solution
        what `solve_ntp_svm` finds for it, with a small `tol`: SEPARABLE, by its dual method.

    Returns
    -------
    float
        positive if complementarity is strict, zero to the accuracy of the solution if not; infinity
        if all tokens are on all supports.

    Raises
    ------
    ValueError
        the solution has no weights or no dual, or is one of another table.

    Examples
    --------
    >>> from ntpcompanion.linear.complementarity import complementarity_gap, tilted_pair
    >>> from ntpcompanion.linear import solve_ntp_svm
    >>> tables = [tilted_pair(tilt) for tilt in (0.25, 0.0)]
    >>> [round(complementarity_gap(t, solve_ntp_svm(t, tol=1e-12)), 6) for t in tables]
    [0.1, 0.0]
    """
    beyond, multipliers = slack_and_multipliers(table, solution)
    outside = ~table.support.toarray()
    return float(np.maximum(multipliers, beyond)[outside].min(initial=np.inf))


def slack_and_multipliers(
    table: ContextTable, solution: NTPSVMSolution
) -> tuple[Float[np.ndarray, "m V"], Float[np.ndarray, "m V"]]:
    """margin_jv − 1 and −Γ_jv; only entries off the supports have a meaning.

    Raises ValueError for a solution without weights or dual, or of another table.
    """
    check_instance("table", table, ContextTable)
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


def tilted_pair(tilt: float) -> ContextTable:
    """Two one-hot contexts in the plane, equally frequent: (1, −tilt) is followed by the first of
    two tokens, (−1, −1) by the second.

    For every tilt ≥ 0 the solution of the next-token SVM has the rows (½, 0) and (−½, 0) and both
    margins are 1. The multiplier of the second margin is tilt / (2 (1 + tilt)), so the table with
    tilt 0 is not strictly complementary. Raises ValueError if `tilt` is negative: the solution is
    another one then.
    """
    tilt = as_number("tilt", tilt, 0)
    embeddings = np.array([[1.0, -tilt], [-1.0, -1.0]])
    return ContextTable(embeddings, np.eye(2), np.full(2, 0.5))
