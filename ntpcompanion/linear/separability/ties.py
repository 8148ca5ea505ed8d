"""Ties: the linear map that is zero on the decoders which give all tokens of a support the same
logit, least squares with it, and the projection onto F.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float
from scipy.sparse.linalg import LinearOperator, lsqr

from ntpcompanion.checks import Size, checked
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics.memory import check_dense
from ntpcompanion.numerics.progress import no_tick
from ntpcompanion.validation import as_matrix

ROUNDING = 1e-15  # relative, at which LSQR stops
# LSQR's answer is refined this often, so that an ill-conditioned system ends at rounding as well.
REFINEMENTS = 4
OUT_OF_STEPS = 7  # what LSQR returns if it ended at its limit of steps
# (m, V) arrays at a time: those of LSQR, of `centre`, values, residual and solution
DENSE_ARRAYS = 12


def unit_rows(
    embeddings: Float[np.ndarray, "m d"],
) -> tuple[Float[np.ndarray, "m d"], Float[np.ndarray, " m"]]:
    """Rows of length 1 and their former lengths (1 for a zero row). Ties and signs of margins do
    not change; conditioning does.
    """
    largest = np.abs(embeddings).max(axis=1)
    largest[largest == 0] = 1.0  # divided out first: squares of 1e200 overflow
    lengths = np.linalg.norm(embeddings / largest[:, None], axis=1) * largest
    lengths[lengths == 0] = 1.0
    return embeddings / lengths[:, None], lengths


def centre(
    values: Float[np.ndarray, "m V"], face: Bool[np.ndarray, "m V"]
) -> Float[np.ndarray, "m V"]:
    """Subtract from each row its mean over `face`, a mask of tokens for each context, and put 0
    elsewhere: the projection onto {Γ : Γ1 = 0, Γ = 0 off `face`}.
    """
    inside = np.where(face, values, 0.0)
    means = inside.sum(axis=1) / np.maximum(face.sum(axis=1), 1)
    return np.where(face, inside - means[:, None], 0.0)


def tie_operator(
    rows: Float[np.ndarray, "m r"],
    face: Bool[np.ndarray, "m V"],
    tick: Callable[[], None] = no_tick,
) -> LinearOperator:
    """T: X ↦ centre(rows X, face) for X in R^{r×V}, both flattened.

    `face` is a mask of tokens for each context. If it is that of the supports, the kernel of T
    holds the (transposed) decoders that tie in-support logits, and the range of Tᵀ is F. The kernel
    of Tᵀ holds the Γ on `face` with Γ1 = 0 and rowsᵀ Γ = 0: those that are not positive off the
    supports are certificates of non-separability. One product costs O(m r V), and calls `tick`.
    """
    m, V = face.shape

    def forward(x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " k"]:
        tick()
        return centre(rows @ x.reshape(-1, V), face).ravel()

    return LinearOperator(
        (m * V, rows.shape[1] * V),
        matvec=forward,
        rmatvec=lambda g: (rows.T @ centre(g.reshape(m, V), face)).ravel(),
        dtype=np.float64,
    )


def least_squares(
    rows: Float[np.ndarray, "m r"],
    face: Bool[np.ndarray, "m V"],
    values: Float[np.ndarray, "m V"],
    iterations: int,
    tick: Callable[[], None] = no_tick,
) -> tuple[Float[np.ndarray, "r V"], Float[np.ndarray, "m V"]]:
    """The least-norm X that minimizes ‖centre(values − rows X, face)‖, and that residual: the part
    of `values` in the kernel of Tᵀ.

    At most `iterations` LSQR steps of O(m r V) for each of REFINEMENTS rounds. `tick` is called
    before each step; what it raises ends the search.
    """
    tie = tie_operator(rows, face, tick)
    solution = np.zeros((rows.shape[1], face.shape[1]))
    residual = start = centre(values, face)
    for _ in range(REFINEMENTS):
        if np.linalg.norm(rows.T @ residual) <= 10 * ROUNDING * np.linalg.norm(start):
            break  # at rounding already: LSQR would follow a direction made of noise
        step, stopped, *_ = lsqr(
            tie, residual.ravel(), atol=ROUNDING, btol=ROUNDING, conlim=0, iter_lim=iterations
        )
        solution = solution + step.reshape(solution.shape)
        residual = centre(residual - rows @ step.reshape(solution.shape), face)
        if stopped == OUT_OF_STEPS:
            break
    return solution, residual


@checked
def project_onto_F(
    table: ContextTable, W: Float[np.ndarray, "V d"], *, max_iterations: Size = 10_000
) -> Float[np.ndarray, "V d"]:
    """P_F W, the part of a decoder that moves in-support log-odds (Thrampoulidis 2024, equation 5).

    F = span{(e_z − e_z') h_jᵀ : z, z' ∈ S_j for some j}.

    W − P_F W ties the in-support logits of every context, and is orthogonal to P_F W. One-hot
    contexts only: F = {0}.

    Parameters
    ----------
    table
        the contexts.
    W
        (V, d), finite.
    max_iterations
        LSQR steps in each of four rounds, at most.

    Returns
    -------
    (V, d) array
        P_F W.

    Raises
    ------
    ValueError
        W is not a finite (V, d) matrix, `max_iterations` is not a positive integer, or the table
        does not fit in memory.
    RuntimeError
        at the end a tie is off by more than 1e-9 of the largest logit (embeddings of unit length).

    Notes
    -----
    Matrix-free: O(m V d) a step, fewer than dim F steps if the embeddings are well conditioned.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, project_onto_F
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> W = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    >>> (project_onto_F(table, W).round(6) + 0.0).tolist()  # only the tie of tokens 0 and 1 counts
    [[0.5, 0.0], [-0.5, 0.0], [0.0, 0.0]]
    """
    W = as_matrix("W", W, (table.vocab_size, table.dim))
    check_dense("table", DENSE_ARRAYS, table.next_token.shape)
    rows, _ = unit_rows(table.embeddings)
    support = table.support.toarray()
    logits = rows @ W.T
    projection, _ = least_squares(rows, support, logits, max_iterations)
    error = np.abs(centre(rows @ (W.T - projection), support)).max()
    if error > 1e-9 * np.abs(logits).max():
        raise RuntimeError(
            f"`project_onto_F` left ties off by {error:.2g} after {max_iterations} LSQR steps a "
            "round. Raise `max_iterations`."
        )
    return projection.T
