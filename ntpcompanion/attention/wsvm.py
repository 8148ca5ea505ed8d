"""The SVM of the key-query matrix: the W of least norm that puts the best token of each sequence
ahead of the others by 1. Solved as a next-token SVM with two words.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float

from ntpcompanion.attention.planted_data import BEST, Positions, TokenSequences
from ntpcompanion.checks import Is, checked
from ntpcompanion.linear.separability.decision import Verdict
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.validation import as_array


@dataclass(frozen=True, eq=False)
class WSVMSolution:
    """The answer to `solve_w_svm`, with its proof.

    Fields
    ------
    verdict
        SEPARABLE: solved to the tolerance. NOT_SEPARABLE: no W has all margins positive.
        UNDECIDED: the budget ran out.
    weights
        W_mm, (d, k), with margins of at least 1 to rounding; None if there is none.
    margins
        (n, T), (x_i,best − x_iτ)ᵀ W q_i; 0 at the best tokens. None if there is no W.
    multipliers
        (n, T), nonnegative, 0 at the best tokens: up to the gap, W_mm is the sum of
        `multipliers` · (x_i,best − x_iτ) q_iᵀ. When NOT_SEPARABLE this sum is zero.
    duality_gap
        ‖W_mm‖² is within this share of the least one. Infinite without W.
    """

    verdict: Verdict
    weights: Float[np.ndarray, "d k"] | None
    margins: Float[np.ndarray, "n T"] | None
    multipliers: Float[np.ndarray, "n T"] | None
    duality_gap: float


OneSet = Annotated[
    TokenSequences,
    Is(lambda sequences: sequences.tokens.ndim == 3, "be one data set of axes (n, T, d)"),
]


@checked(BEST)
def solve_w_svm(sequences: OneSet, best: Positions, *, tol: float = 1e-8) -> WSVMSolution:
    """Minimize ‖W‖_F subject to (x_i,best − x_iτ)ᵀ W q_i ≥ 1 for every other token τ of sequence i.

    Parameters
    ----------
    sequences
        one data set (no leading axes).
    best
        (n,), the position in each sequence of the token that is to be selected.
    tol
        the relative duality gap at which the search ends.

    Returns
    -------
    WSVMSolution
        W with its duality gap, or the proof that there is none.

    Raises
    ------
    ValueError
        several data sets, positions that do not exist, `tol` not in (0, 1).

    Notes
    -----
    With (e_1 − e_2)ᵀ D = vec(W)ᵀ the conditions are those of the next-token SVM for two words
    whose contexts are the n (T − 1) vectors vec((x_i,best − x_iτ) q_iᵀ), and ‖D‖² = ‖W‖² / 2: the
    dual solver and its certificate are those of `solve_ntp_svm`. Cost O((n T)² d k) for the inner
    products, then that of `solve_ntp_svm` with V = 2.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.attention import plant_tokens, solve_w_svm
    >>> drawn = plant_tokens(np.random.default_rng(0), count=4, length=3, dim=10)
    >>> found = solve_w_svm(drawn.sequences, drawn.best)
    >>> found.verdict.name, bool(found.duality_gap < 1e-8)
    ('SEPARABLE', True)
    >>> others = np.arange(3) != drawn.best[:, None]
    >>> round(float(found.margins[others].min()), 6)
    1.0
    """
    ahead, asked = differences(sequences, best)
    others = np.arange(sequences.length) != as_array("best", best).astype(int)[:, None]
    outer = (ahead[others][:, :, None] * asked[others][:, None, :]).reshape(others.sum(), -1)
    first = np.tile([1.0, 0.0], (len(outer), 1))  # of two words the first follows
    table = ContextTable(outer, first, np.full(len(outer), 1 / len(outer)))
    solution = solve_ntp_svm(table, tol=tol)
    multipliers = None
    if solution.dual is not None:
        multipliers = np.zeros(others.shape)
        # D = ΓᵀE and vec(W) is the difference of its two rows, so each Γ counts twice
        multipliers[others] = -2 * solution.dual[:, 1]
    if solution.weights is None:
        return WSVMSolution(solution.verdict, None, None, multipliers, np.inf)
    W = (solution.weights[0] - solution.weights[1]).reshape(ahead.shape[-1], -1)
    margins = np.einsum("itd,dk,itk->it", ahead, W, asked)
    return WSVMSolution(solution.verdict, W, margins, multipliers, solution.duality_gap)


@checked(BEST)
def differences(
    sequences: OneSet, best: Positions
) -> tuple[Float[np.ndarray, "n T d"], Float[np.ndarray, "n T k"]]:
    """x_i,best − x_iτ and the query of each, for one data set."""
    rows = np.arange(len(sequences.tokens))
    chosen = sequences.tokens[rows, as_array("best", best).astype(int)]
    asked = np.repeat(sequences.queries[:, None], sequences.length, axis=1)
    return chosen[:, None] - sequences.tokens, asked
