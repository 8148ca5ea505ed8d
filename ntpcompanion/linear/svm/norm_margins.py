"""The widest margin of a decoder of norm 1, in the norm of an optimizer: Frobenius, max or
spectral.
"""

import contextlib
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from ntpcompanion.checks import checked
from ntpcompanion.linear.dynamics.alignment import cosine_distance
from ntpcompanion.linear.dynamics.decomposed_loss import split_bases
from ntpcompanion.linear.separability.certificates import check_weights
from ntpcompanion.linear.svm.margin_programs import (
    ProgramAnswer,
    constraint_pairs,
    least_frobenius_norm,
    least_max_norm,
)
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.validation import as_shaped

Norm = Literal["frobenius", "max", "spectral"]
# Of semidefinite programs, in the order in which they are tried.
SOLVERS = {
    "CLARABEL": {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9},
    "SCS": {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iters": 50_000},
}
ROUNDING = 1e-10  # singular values below count as zero, relative to the largest


@dataclass(frozen=True, eq=False)
class NormMargin:
    """The decoder of least norm with ties and margins of at least 1, with its proof.

    The smallest margin of `weights` is 1. In Γ, the `dual`, Γ1 = 0 and −Γ_jv ≥ 0 is the multiplier
    of the margin of v in context j. `gap` is the relative difference of the norm of W and its lower
    bound, −Σ_{v∉S_j} Γ_jv over the dual norm of ΓᵀE. `tie_error` is the largest difference of two
    logits within a support.
    """

    norm: Norm
    weights: Float[np.ndarray, "V d"]
    dual: Float[np.ndarray, "m V"]
    gap: float
    tie_error: float

    @property
    def size(self) -> float:
        """The norm of W; 1 over it is the widest margin of a decoder of norm 1."""
        return float(decoder_norm(self.weights[None], self.norm)[0])

    def fractions(
        self, table: ContextTable, decoders: Float[np.ndarray, "n V d"]
    ) -> Float[np.ndarray, " n"]:
        """The smallest margin of the part of each decoder outside of F, over its norm, as a
        fraction of the widest: at most 1, negative where the part does not separate, NaN where it
        is zero.

        Where the part in F converges while the norm grows, decoder and part have the same limit.
        The norm is the least over vectors added to all tokens, which change no logit.
        """
        outside = outside_F(table, decoders)
        logits, support = table.embeddings @ outside.transpose(0, 2, 1), table.support.toarray()
        inner = np.where(support, logits, np.inf).min(axis=2)
        margins = (inner - np.where(support, -np.inf, logits).max(axis=2)).min(axis=1)
        sizes = decoder_norm(outside, self.norm)
        sizes[sizes <= ROUNDING * np.abs(decoders).max(axis=(1, 2))] = np.nan
        return np.asarray(self.size * margins / sizes)

    def cosines(
        self, table: ContextTable, decoders: Float[np.ndarray, "n V d"]
    ) -> Float[np.ndarray, " n"]:
        """The cosine of the part of each decoder outside of F with `weights`, both less the mean of
        their rows. Where other decoders have the same norm and margins, as may be in the max and
        the spectral norm, a cosine with the nearest of them would be larger.
        """
        both = np.concatenate([outside_F(table, decoders), self.weights[None]])
        both -= both.mean(axis=1, keepdims=True)
        return np.asarray(1 - cosine_distance(both[:-1], both[-1]))


def least_spectral_norm(table: ContextTable) -> ProgramAnswer | None:
    """Minimize the largest singular value of W subject to ties and margins, a semidefinite program,
    by Clarabel, and by SCS where that fails; None if both fail.

    W is searched among the decoders whose rows lie in the span of the embeddings and sum to zero:
    the projection onto these never raises the norm.
    """
    import cvxpy as cp

    m, V = table.num_contexts, table.vocab_size
    _, scale, right = np.linalg.svd(table.embeddings, full_matrices=False)
    span, centred = right[scale > ROUNDING * scale[0]], np.linalg.svd(np.ones((1, V)))[2][1:].T
    W: Any = cp.Variable((V - 1, len(span)))
    logits = table.embeddings @ span.T @ W.T @ centred.T
    pairs = constraint_pairs(table)
    ties, margins = (logits[j, anchor] - logits[j, token] for j, anchor, token in pairs)
    constraints = [margins >= 1] + [ties == 0] * bool(pairs[0].size)
    problem: Any = cp.Problem(cp.Minimize(cp.sigma_max(W)), constraints)
    for solver, options in SOLVERS.items():
        with warnings.catch_warnings(), contextlib.suppress(cp.SolverError):
            warnings.simplefilter("ignore")  # an inaccurate answer is not taken
            problem.solve(solver=solver, **options)
            if problem.status == cp.OPTIMAL:
                break
    else:
        return None
    dual = np.zeros((m, V))
    for (rows, anchors, tokens), constraint, sign in zip(
        reversed(pairs), constraints, (1.0, -1.0), strict=False
    ):
        np.add.at(dual, (rows, anchors), sign * constraint.dual_value)
        np.add.at(dual, (rows, tokens), -sign * constraint.dual_value)
    return ProgramAnswer(centred @ W.value @ span, dual, int(problem.solver_stats.num_iters or 0))


PROGRAMS = {
    "frobenius": least_frobenius_norm,
    "max": least_max_norm,
    "spectral": least_spectral_norm,
}


@checked
def solve_norm_margin(table: ContextTable, norm: Norm) -> NormMargin:
    """Minimize the norm of W subject to ties on the supports and margins of at least 1 off them:
    the largest entry ("max"), the largest singular value ("spectral"), or the Frobenius norm.

    A linear program, a semidefinite program or a quadratic program in V d unknowns: 0.1 s at V = 8,
    d = 12, m = 10. Raises `ValueError` for a table on which the solver finds no feasible decoder,
    and for an unknown norm.
    """
    answer = PROGRAMS[norm](table)
    if answer is None:
        raise ValueError(
            "`table` is not separable, or the solver failed: no decoder with ties on the supports "
            "and margins of at least 1 off them was found."
        )
    proof = check_weights(table, answer.weights)
    weights = answer.weights / proof.smallest_margin
    bound = -float(answer.dual[~table.support.toarray()].sum())
    bound /= float(dual_norm((answer.dual.T @ table.embeddings)[None], norm)[0])
    size = float(decoder_norm(weights[None], norm)[0])
    return NormMargin(
        norm, weights, answer.dual, 1 - bound / size, proof.tie_error / proof.smallest_margin
    )


def decoder_norm(weights: Float[np.ndarray, "n V d"], norm: Norm) -> Float[np.ndarray, " n"]:
    """Of each decoder, the least over all vectors that are added to its rows."""
    if norm == "max":
        return np.asarray(np.ptp(weights, axis=1).max(axis=1) / 2)
    centred = weights - weights.mean(axis=1, keepdims=True)
    return np.asarray(np.linalg.norm(centred, 2 if norm == "spectral" else None, axis=(1, 2)))


def dual_norm(matrices: Float[np.ndarray, "n V d"], norm: Norm) -> Float[np.ndarray, " n"]:
    """The largest inner product with matrices of norm 1: the sum of the sizes of all entries
    ("max"), the sum of the singular values ("spectral"), or the Frobenius norm.
    """
    if norm == "max":
        return np.asarray(np.abs(matrices).sum(axis=(1, 2)))
    return np.asarray(np.linalg.norm(matrices, "nuc" if norm == "spectral" else None, axis=(1, 2)))


def outside_F(
    table: ContextTable, decoders: Float[np.ndarray, "n V d"]
) -> Float[np.ndarray, "n V d"]:
    """The part of each decoder orthogonal to F."""
    shape = (None, table.vocab_size, table.dim)
    flat = as_shaped("decoders", decoders, shape, "decoders").reshape(len(decoders), -1)
    return np.asarray((flat - flat @ projector_onto_F(table)).reshape(decoders.shape))


def projector_onto_F(table: ContextTable) -> Float[np.ndarray, "n n"]:
    """P_F as a matrix on the V d entries of W row by row. Cost that of `split_bases`."""
    basis = split_bases(table).finite.reshape(-1, table.vocab_size * table.dim)
    return np.asarray(basis.T @ basis)
