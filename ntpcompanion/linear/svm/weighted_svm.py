"""The next-token SVM in a weighted norm, to rounding and in milliseconds at the paper's sizes."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float
from scipy.optimize import nnls

from ntpcompanion.checks import Between, checked
from ntpcompanion.linear.separability.ties import unit_rows
from ntpcompanion.linear.svm.margin_programs import constraint_pairs
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics.memory import check_dense
from ntpcompanion.validation import as_matrix

# A system of margins whose best combination is shorter than this is contradictory.
CONTRADICTION = 1e-9
# The largest gap of an answer that is given.
PROVED = 1e-6
# Rounding of a product of two unit vectors, beyond which a margin is missed.
ROUNDING = 64 * np.finfo(float).eps
# Singular values below this fraction of the largest belong to ties that repeat others.
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class WeightedSolution:
    """W, (V, d), feasible to rounding, and its `gap`: what Σ s W² exceeds the minimum by, at most,
    as a fraction of it.
    """

    weights: Float[np.ndarray, "V d"]
    gap: float


@checked
def solve_weighted_svm(
    table: ContextTable, scale: Annotated[Float[np.ndarray, "V d"], Between(0, np.inf)]
) -> WeightedSolution:
    """Minimize Σ_zi s_zi W_zi² subject to ties within supports and margins of at least 1.

    In U = √s W this is the point of least norm in a polyhedron. The ties are projected out, and
    what remains is a problem of non-negative least squares in the multipliers of the margins
    (Lawson and Hanson 1974, chapter 23). An active-set method ends at the solution itself.

    Parameters
    ----------
    table
        the contexts.
    scale
        s, (V, d), positive; all equal, they give W^mm.

    Returns
    -------
    WeightedSolution
        the unique solution, with a bound on its distance from the optimum by the dual.

    Raises
    ------
    ValueError
        `scale` is not a positive (V, d) matrix, the table is not separable, or the constraints do
        not fit in memory.
    RuntimeError
        rounding leaves a gap above 1e-6.

    Notes
    -----
    Dense: (m V)(V d) numbers, some hundred milliseconds at V = 10, m = 50, d = 60.

    Examples
    --------
    Weights that make the second word expensive take its vector to zero:

    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable
    >>> from ntpcompanion.linear.svm.weighted_svm import solve_weighted_svm
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])  # distributions of the next token
    >>> table = ContextTable(np.array([[2.0, 1.0], [1.0, 2.0]]), p, np.array([0.5, 0.5]))
    >>> scale = np.array([[1.5, 0.75], [2.25, 2.25], [0.75, 1.5]])
    >>> (solve_weighted_svm(table, scale).weights.round(4) + 0.0).tolist()
    [[0.3333, -0.6667], [0.0, 0.0], [-0.6667, 0.3333]]
    """
    scale = as_matrix("scale", scale, (table.vocab_size, table.dim))
    check_dense("table", 4, (table.next_token.shape[0] * table.vocab_size, scale.size))
    root = np.sqrt(scale / np.exp(np.log(scale).mean())).ravel()
    ties, margins = (_contrasts(table, pairs) / root for pairs in constraint_pairs(table))
    tied, (rows, lengths) = _row_space(unit_rows(ties)[0]), unit_rows(margins)
    shortest = lengths.min()  # its threshold is the largest, and the unit of length
    u, gap = _least_norm_point(rows - rows @ tied.T @ tied, shortest / lengths)
    if not gap <= PROVED:
        raise RuntimeError(
            f"rounding leaves a relative gap of {gap:.3g}, more than {PROVED:g}. Are lengths of "
            "embeddings in `table`, or entries of `scale`, of very different size?"
        )
    return WeightedSolution((u / root / shortest).reshape(scale.shape), gap)


@checked
def project_onto_cone(
    table: ContextTable,
    scale: Annotated[Float[np.ndarray, "V d"], Between(0, np.inf)],
    target: Float[np.ndarray, "V d"],
) -> Float[np.ndarray, "V d"]:
    """The D that minimizes Σ_zi s_zi (D − X)²_zi subject to ties within supports, where no token
    off a support gets a larger logit than those on it.

    For X = T / s it is the velocity at which gradient flow in the norm s of the loss less a small
    linear term ⟨T, W⟩ ends. Non-negative least squares in the multipliers of the margins, as in
    `solve_weighted_svm`. Raises ValueError for arrays of another shape, and weights `scale` that
    are not positive.
    """
    shape = (table.vocab_size, table.dim)
    root = np.sqrt(as_matrix("scale", scale, shape)).ravel()
    ties, margins = (_contrasts(table, pairs) / root for pairs in constraint_pairs(table))
    tied, rows = _row_space(unit_rows(ties)[0]), unit_rows(margins)[0]
    free = as_matrix("target", target, shape).ravel() * root
    free = free - free @ tied.T @ tied
    raised = (rows - rows @ tied.T @ tied).T
    return np.asarray((free + raised @ nnls(raised, -free)[0]) / root).reshape(shape)


def _contrasts(table: ContextTable, pairs: np.ndarray) -> Float[np.ndarray, "constraints n"]:
    """Rows (e_a − e_z) h_jᵀ, flattened: what each constraint (j, a, z) multiplies W by."""
    rows, anchors, tokens = pairs
    contrasts, index = np.zeros((len(rows), table.vocab_size, table.dim)), np.arange(len(rows))
    contrasts[index, anchors] = table.embeddings[rows]
    contrasts[index, tokens] -= table.embeddings[rows]
    return contrasts.reshape(len(rows), table.vocab_size * table.dim)


def _row_space(matrix: Float[np.ndarray, "k n"]) -> Float[np.ndarray, "r n"]:
    """An orthonormal basis, as rows."""
    _, size, vectors = np.linalg.svd(matrix, full_matrices=False)
    return vectors[size > RANK_TOLERANCE * size.max(initial=0)]


def _least_norm_point(
    margins: Float[np.ndarray, "k n"], thresholds: Float[np.ndarray, " k"]
) -> tuple[Float[np.ndarray, " n"], float]:
    """The u of least norm with `margins` u ≥ `thresholds` to rounding, and its relative gap in
    ‖u‖², infinite if there is no such u; rows have length 1 or less, the largest threshold is 1.
    """
    system = np.vstack([margins.T, thresholds])
    target = np.zeros(len(system))
    target[-1] = 1.0
    multipliers, distance = nnls(system, target)
    if distance < CONTRADICTION:
        raise ValueError("`table` must be separable: no decoder ties its supports with margins.")
    along = margins.T @ multipliers
    square = float(along @ along)
    factor = ((margins @ along + ROUNDING * np.sqrt(square)) / thresholds).min()
    if factor <= 0:
        return along, np.inf
    # by weak duality no feasible u is shorter than (Σ μ t / |Aᵀμ|)
    return along / factor, (square / factor / (thresholds @ multipliers)) ** 2 - 1
