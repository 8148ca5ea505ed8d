"""Steepest descent in the Frobenius, max or spectral norm, on several tables of one shape at a
time: normalized gradient descent, sign descent, and Muon with exact polar factors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float

from ntpcompanion.checks import INCREASING, Length, Range, checked, need
from ntpcompanion.linear.dynamics.descent import step_bound
from ntpcompanion.linear.svm.norm_margins import Norm, decoder_norm, dual_norm, projector_onto_F
from ntpcompanion.linear.tables.contexts import ContextTable

Rule = Literal["normalized", "proportional", "separate"]
ROUNDING = 1e-12  # singular values below are noise, relative to the largest
SMALLEST = 1e-300  # mass on a support
# Of the alternating directions that look for the steepest step outside of F, each from the last.
PENALTY, ROUNDS = 3.0, 10


@dataclass(frozen=True, eq=False)
class SteepestPath:
    """Decoders of n runs after the steps that are kept. For the rule "separate", `slope` is the
    smallest proved fraction of the steepest possible slope outside of F, over the steps since the
    decoder kept before; it is 1 for the other rules.
    """

    weights: Float[np.ndarray, "kept n V d"]
    slope: Float[np.ndarray, "kept n"]


@checked(
    need("rates", "rates.shape == (len(tables), keep[-1])", "have a row for each table, and a "
         "column for each step up to the last of `keep`"),
    need("momentum", "momentum == 0 or rule == 'normalized'", "be 0 for the rule {rule!r}"),
)  # fmt: skip
def steepest_descent(
    tables: Annotated[Sequence[ContextTable], Length(1)],
    *,
    norm: Norm,
    rates: Float[np.ndarray, "n steps"],
    keep: Annotated[Sequence[int], Length(1), INCREASING],
    momentum: Annotated[float, Range(0, below=1)] = 0.0,
    rule: Rule = "normalized",
) -> SteepestPath:
    """Minimize CE(W) from W = 0 by steps that are steepest in a norm; run i is on the i-th table,
    all of one shape.

    Let Δ(G) maximize ⟨Δ, G⟩ over ‖Δ‖ ≤ 1: sign G for "max", the polar factor U Vᵀ of G = U Σ Vᵀ for
    "spectral", G / ‖G‖_F for "frobenius".

        "normalized"     M ← β M + (1 − β) ∇CE(W),   W ← W − η_k Δ(M)
        "proportional"   W ← W − η_k ‖∇CE(W)‖_* Δ(∇CE(W)),   ‖·‖_* the dual norm
        "separate"       in F a step of gradient descent of length 1 / (2L); outside of F the
                         steepest of all steps of norm η_k that are orthogonal to F, where vectors
                         that are added to all rows do not count in the norm

    `rates` are the η_k of each run. Decoders are kept after the steps `keep`, and the last of these
    ends the run. The part of the gradient outside of F is computed from the probabilities off the
    supports alone, so it keeps its digits however small they are. Singular values below 1e-12 of
    the largest count as zero. "separate" solves for its step by alternating directions, which start
    where the last step ended, and proves a lower bound on its slope. A step of 16 runs with V = 8,
    d = 12 takes 40 µs ("max") or 200 µs ("spectral"), "separate" some ten times as long. Raises
    `ValueError` for tables of several shapes and arguments out of their ranges.
    """
    gradients = _Gradients(tables)
    W = np.zeros((len(tables), tables[0].vocab_size, tables[0].dim))
    outside = _Outside(tables, norm) if rule == "separate" else None
    mean, snapshots, slopes = np.zeros_like(W), [], []
    smallest = np.ones(len(tables))
    for k in range(1, keep[-1] + 1):
        rate = rates[:, k - 1, None, None]
        within, off = gradients(W)
        if outside is None:
            mean = momentum * mean + (1 - momentum) * (within + off)
            if rule == "proportional":
                rate = rate * dual_norm(mean, norm)[:, None, None]
            W = W - rate * steepest_direction(mean, norm)
        else:
            direction, slope = outside.step(off)
            W = W - outside.rates * (within + outside.inside(off)) - rate * direction
            smallest = np.minimum(smallest, slope)
        if k in keep:
            snapshots.append(W)
            slopes.append(smallest)
            smallest = np.ones(len(tables))
    return SteepestPath(np.stack(snapshots), np.stack(slopes))


def steepest_direction(
    gradients: Float[np.ndarray, "n V d"], norm: Norm
) -> Float[np.ndarray, "n V d"]:
    """Of each G a Δ that maximizes ⟨Δ, G⟩ over ‖Δ‖ ≤ 1; zero where G is zero."""
    largest = np.abs(gradients).max(axis=(1, 2), keepdims=True)
    unit = gradients / np.where(largest > 0, largest, 1)  # squares of 1e-170 would underflow
    if norm == "max":
        return np.sign(unit)
    if norm == "frobenius":
        return np.asarray(unit / np.maximum(np.linalg.norm(unit, axis=(1, 2), keepdims=True), 1e-9))
    left, scale, right = np.linalg.svd(unit, full_matrices=False)
    return np.asarray((left * (scale > ROUNDING * scale[:, :1])[:, None, :]) @ right)


def largest_curvature(table: ContextTable, norm: Norm) -> float:
    """A bound on ⟨Δ, ∇²CE(W) Δ⟩ over all W and ‖Δ‖ ≤ 1: with steps of 1 over it by the rule
    "proportional" the loss never rises.

    ⟨Δ, ∇²CE Δ⟩ is the mean over contexts of the variance of the logits Δ h_j under softmax, at most
    a quarter of the square of their range (max), and half their squared length (spectral).
    """
    if norm == "frobenius":
        return 1 / (2 * step_bound(table))
    if norm == "spectral":
        return float(table.weight @ (table.embeddings**2).sum(axis=1)) / 2
    return float(table.weight @ np.abs(table.embeddings).sum(axis=1) ** 2)


class _Gradients:
    """∇CE at n decoders in two summands: Σ_j π_j (r_j − p_j) h_jᵀ, in F, with the softmax r_j
    within the support; and what the mass off the supports adds.
    """

    def __init__(self, tables: Sequence[ContextTable]) -> None:
        self.rows = np.stack([table.embeddings for table in tables])
        self.weighted = np.stack([table.weight[:, None] * table.embeddings for table in tables])
        self.p = np.stack([table.distributions.toarray() for table in tables])

    def __call__(
        self, W: Float[np.ndarray, "n V d"]
    ) -> tuple[Float[np.ndarray, "n V d"], Float[np.ndarray, "n V d"]]:
        logits = self.rows @ W.transpose(0, 2, 1)
        powers = np.exp(logits - logits.max(axis=2, keepdims=True))
        inside = np.where(self.p > 0, powers, 0.0)
        mass = inside.sum(axis=2, keepdims=True)
        r = inside / np.maximum(mass, SMALLEST)
        off = (powers - inside) / powers.sum(axis=2, keepdims=True)
        moved = off - off.sum(axis=2, keepdims=True) * r
        return (r - self.p).transpose(0, 2, 1) @ self.weighted, moved.transpose(
            0, 2, 1
        ) @ self.weighted


class _Outside:
    """The steepest steps orthogonal to F: maximize ⟨X, G⟩ over P_F X = 0, ‖X‖ ≤ 1, by alternating
    directions between the subspace and the ball. The multiplier of the ball, moved along F, bounds
    the maximum from above by its dual norm.
    """

    def __init__(self, tables: Sequence[ContextTable], norm: Norm) -> None:
        projector_of = {id(table): projector_onto_F(table) for table in tables}
        self.projectors = np.stack([projector_of[id(table)] for table in tables])
        self.rates = np.array([step_bound(table) for table in tables])[:, None, None]
        self.norm: Norm = norm
        shape = len(tables), tables[0].vocab_size, tables[0].dim
        self.ball, self.multiplier = np.zeros(shape), np.zeros(shape)

    def inside(self, matrices: Float[np.ndarray, "n V d"]) -> Float[np.ndarray, "n V d"]:
        """P_F of each."""
        return (self.projectors @ matrices.reshape(len(matrices), -1, 1)).reshape(matrices.shape)

    def step(
        self, off: Float[np.ndarray, "n V d"]
    ) -> tuple[Float[np.ndarray, "n V d"], Float[np.ndarray, " n"]]:
        """Directions of norm 1 for the gradients `off`, and proved fractions of their slopes."""
        largest = np.abs(off).max(axis=(1, 2), keepdims=True)
        unit = off / np.where(largest > 0, largest, 1)
        unit = unit - self.inside(unit)
        unit /= np.maximum(np.linalg.norm(unit, axis=(1, 2), keepdims=True), 1e-9)
        for _ in range(ROUNDS):
            wanted = self.ball - self.multiplier + unit / PENALTY
            tied = wanted - self.inside(wanted)
            self.ball = _nearest(tied + self.multiplier, self.norm)
            self.multiplier = self.multiplier + tied - self.ball
        direction = tied / np.maximum(decoder_norm(tied, self.norm), 1e-9)[:, None, None]
        bound = dual_norm(unit + self.inside(PENALTY * self.multiplier), self.norm)
        slope = (direction * unit).sum(axis=(1, 2)) / np.maximum(bound, 1e-9)
        return direction * (largest > 0), slope


def _nearest(X: Float[np.ndarray, "n V d"], norm: Norm) -> Float[np.ndarray, "n V d"]:
    """In the ball ‖X‖ ≤ 1."""
    if norm == "max":
        return np.clip(X, -1, 1)
    if norm == "frobenius":
        return np.asarray(X / np.maximum(np.linalg.norm(X, axis=(1, 2), keepdims=True), 1))
    left, scale, right = np.linalg.svd(X, full_matrices=False)
    return np.asarray((left * np.minimum(scale, 1)[:, None, :]) @ right)
