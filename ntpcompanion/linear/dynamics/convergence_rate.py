"""How fast the direction in which gradient flow grows tends to W^mm: a power of t, not of log t."""

import numpy as np
from jaxtyping import Bool, Float

from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.svm.complementarity import (
    TIGHT,
    complementarity_gap,
    slack_and_multipliers,
)
from ntpcompanion.linear.svm.next_token_svm import NTPSVMSolution
from ntpcompanion.linear.tables.contexts import ContextTable

# Complementarity counts as strict from this gap on, and contrasts as linearly dependent from this
# ratio of the extreme eigenvalues of their Gram matrix on.
MIN_GAP, MIN_RATIO = 1e-9, 1e-12


def convergence_rate(table: ContextTable, solution: NTPSVMSolution) -> float:
    """The a in dW / d log t = W^mm + O(t^{−b}), which holds along gradient flow for every b < a; 0
    < a ≤ 1.

    The offset ρ of W = W^mm log t + W* + ρ settles like a gradient flow in log t. Near its limit
    this is linear, with the matrix Σ −Γ_jv G_jv G_jvᵀ over the margins of 1, where G_jv is the part
    of (e_z − e_v) h_jᵀ, z in S_j, orthogonal to F. The smaller counts of its smallest positive
    eigenvalue and of the amount by which the next margin exceeds 1. The part in F settles like 1/t,
    which is never slower: W^mm is an eigenvector with the eigenvalue 1, because its inner product
    with each of these G_jv is 1 and their sum with the weights −Γ_jv is W^mm.

    `solution` comes from the dual method of `solve_ntp_svm`, with a small `tol`. Costs a projection
    onto F for each of k margins of 1, and O(k² V d + k³). Raises `ValueError` where `solution` has
    no weights or no dual or is one of another table, where complementarity is not strict, and where
    the G_jv are linearly dependent, as for two equal contexts: the multipliers are then not unique.
    """
    gap = complementarity_gap(table, solution)
    if gap < MIN_GAP:
        raise ValueError(
            f"`solution` must be strictly complementary, got a smallest gap of {gap:.1e}: a margin "
            "is 1 with a multiplier of zero, and no power of t is known."
        )
    slack, multipliers = slack_and_multipliers(table, solution)
    support = table.support.toarray()
    tight = ~support & ((multipliers > slack) | (slack < TIGHT))
    contrasts = _contrasts(table, support, tight)
    gram = contrasts @ contrasts.T
    sizes = np.linalg.eigvalsh(gram)
    if sizes[0] < MIN_RATIO * sizes[-1]:
        raise ValueError(
            f"`table` must have linearly independent margins of 1, got {len(gram)} of rank "
            f"{np.linalg.matrix_rank(gram)}. Equal contexts are one context: merge them."
        )
    roots = np.sqrt(multipliers[tight])
    settles = np.linalg.eigvalsh(roots[:, None] * gram * roots)[0]
    return float(min(settles, slack[~support & ~tight].min(initial=np.inf)))


def _contrasts(
    table: ContextTable, support: Bool[np.ndarray, "m V"], tight: Bool[np.ndarray, "m V"]
) -> Float[np.ndarray, "k n"]:
    """The G_jv of the margins of 1, in rows."""
    rows = []
    for j, v in np.argwhere(tight):
        contrast = np.zeros((table.vocab_size, table.dim))
        contrast[support[j].argmax()] += table.embeddings[j]
        contrast[v] -= table.embeddings[j]
        rows.append((contrast - project_onto_F(table, contrast)).ravel())
    return np.array(rows)
