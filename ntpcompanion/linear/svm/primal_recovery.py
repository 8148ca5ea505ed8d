"""From a point of the dual to a proof: a feasible decoder with its duality gap, or a certificate
that there is none.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.linear.separability.certificates import check_certificate, check_weights
from ntpcompanion.linear.separability.feasibility_search import finish_certificate
from ntpcompanion.linear.separability.ties import unit_rows
from ntpcompanion.linear.svm.dual_problem import DualProblem, tie_correction
from ntpcompanion.linear.tables.contexts import ContextTable

# Ties are solved again with the error that remains, until it is rounding.
TIE_ROUNDS, TIE_STEPS, TIE_ROUNDING = 4, 500, 1e-12


class UnitTable:
    """A table with embeddings of length 1, on the device of the ascent; `problem` has the dtype of
    the ascent, all else is float64.
    """

    def __init__(self, table: ContextTable, dtype: torch.dtype, device: torch.device) -> None:
        rows, lengths = unit_rows(table.embeddings)
        self.table, self.lengths = table, lengths
        self.rows = torch.as_tensor(rows, device=device)
        self.support = torch.as_tensor(table.support.toarray(), device=device)
        self.threshold = torch.as_tensor(1 / lengths, device=device)
        typed = self.rows.to(dtype)
        self.problem = DualProblem(typed @ typed.T, self.support, self.threshold.to(dtype))


@dataclass(frozen=True, eq=False)
class FeasibleDecoder:
    """A decoder that is feasible to rounding, and Γ, whose objective bounds the norm from below.
    `margin` is the smallest margin, 1 to rounding, and `tie_violation` the largest difference of
    two in-support logits. `gap` is the relative duality gap (P − D) / P.
    """

    weights: Float[np.ndarray, "V d"]
    dual: Float[np.ndarray, "m V"]
    margin: float
    tie_violation: float
    gap: float


def recover_decoder(
    scaled: UnitTable, gamma: Float[Tensor, "m V"], best_gap: float
) -> FeasibleDecoder | None:
    """Make W = ΓᵀU feasible: remove its part in F and divide it by its smallest margin. Γ1 = 0, Γ ≤
    0 off support.

    None if W has no positive margin, its duality gap is not below `best_gap`, or rounding spoils
    the proof. Cost O(m V d), and that of `tie_correction` where ties are not at rounding yet.
    """
    gamma = gamma.to(torch.float64)
    raw = gamma.T @ scaled.rows
    W, logits, level = _without_ties(scaled, raw)
    outside = torch.where(scaled.support, -torch.inf, logits).max(1).values
    margin = float(((level - outside) / scaled.threshold).min())
    linear = -float(scaled.threshold @ torch.where(scaled.support, 0.0, gamma).sum(1))
    if margin <= 0 or linear <= 0:
        return None
    square = float(raw.square().sum())
    upper, lower = float(W.square().sum()) / margin**2, linear**2 / square
    if not 1 - lower / upper < best_gap:
        return None
    weights = (W / margin).cpu().numpy()
    check = check_weights(scaled.table, weights)
    if not check.holds:
        return None
    dual = (gamma * (linear / square)).cpu().numpy() / scaled.lengths[:, None]
    return FeasibleDecoder(weights, dual, check.smallest_margin, check.tie_error, 1 - lower / upper)


def _without_ties(
    scaled: UnitTable, W: Float[Tensor, "V d"]
) -> tuple[Float[Tensor, "V d"], Float[Tensor, "m V"], Float[Tensor, " m"]]:
    """W without its part in F, its logits, and their common level on each support."""
    support = scaled.support
    for attempt in range(TIE_ROUNDS + 1):
        logits = scaled.rows @ W.T
        level = torch.where(support, logits, 0.0).sum(1) / support.sum(1)
        ties = torch.where(support, logits - level[:, None], 0.0)
        rounding = TIE_ROUNDING * float(logits.abs().max())
        if attempt == TIE_ROUNDS or float(ties.abs().max()) <= rounding:
            break
        correction = tie_correction(scaled.problem, ties, TIE_STEPS)
        W = W - correction.to(W.dtype).T @ scaled.rows
    return W, logits, level


def recover_certificate(
    scaled: UnitTable, gamma: Float[Tensor, "m V"]
) -> Float[np.ndarray, "m V"] | None:
    """A Farkas certificate (m, V) that no decoder is feasible, made of an unbounded Γ;
    None if that Γ cannot be finished into one.
    """
    guess = gamma.to(torch.float64)
    guess = (guess / guess.abs().max()).cpu().numpy()
    support = scaled.table.support.toarray()
    certificate = finish_certificate(scaled.rows.cpu().numpy(), support, guess, TIE_STEPS)
    if certificate is None:
        return None
    certificate = certificate / scaled.lengths[:, None]
    return certificate if check_certificate(scaled.table, certificate).holds else None
