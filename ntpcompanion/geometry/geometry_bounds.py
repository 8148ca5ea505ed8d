"""The loss of logits above the floor, its gradient, and how far logits are from the minimum of the
loss with a nuclear-norm penalty. Small values keep their digits.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from ntpcompanion.geometry.spectral import nuclear_norm, spectral_norm
from ntpcompanion.geometry.supports import as_next_token
from ntpcompanion.linear.tables.contexts import as_weight
from ntpcompanion.numerics.series import NEAR, exp_remainder

# A token this much above the whole support has probability one; e^500 is still finite.
LARGEST = 500.0


@dataclass(frozen=True, eq=False)
class Distributions:
    """Next-token distributions of m contexts and their frequencies π, positive and of sum one, with
    what the loss needs of them: where p is positive, and log p, which is 0 off the supports.
    """

    probabilities: Float[np.ndarray, "m V"]
    inside: Bool[np.ndarray, "m V"]
    log_probabilities: Float[np.ndarray, "m V"]
    weight: Float[np.ndarray, " m"]

    @classmethod
    def read(cls, next_token: ArrayLike, weight: ArrayLike) -> "Distributions":
        """Of what a user hands over. Raises ValueError for rows that are not distributions, and for
        frequencies that are not positive or do not sum to one.
        """
        probabilities = as_next_token("next_token", next_token)
        return cls.of(probabilities, as_weight("weight", weight, len(probabilities)))

    @classmethod
    def of(
        cls, probabilities: Float[np.ndarray, "m V"], weight: Float[np.ndarray, " m"]
    ) -> "Distributions":
        """With supports and logarithms."""
        inside = probabilities > 0
        return cls(probabilities, inside, np.log(np.where(inside, probabilities, 1.0)), weight)


def excess_and_gradient(
    logits: Float[np.ndarray, "m V"], distributions: Distributions
) -> tuple[float, Float[np.ndarray, "m V"]]:
    """CE(L) − H in nats, and its gradient π_j (q_jz − p_jz), with q the softmax of the rows of L.

    KL(p ‖ q) = −log q(S) + Σ_{z∈S} p_z (r_z − 1 − log r_z) with r_z = q_z / (q(S) p_z): no term is
    negative. Cost O(m V).
    """
    above = logits - np.where(distributions.inside, logits, -np.inf).max(axis=1, keepdims=True)
    raised = np.exp(np.minimum(above, LARGEST))
    held = (raised * distributions.inside).sum(axis=1, keepdims=True)
    beyond = np.where(distributions.inside, 0.0, raised)
    lost = np.log1p(beyond.sum(axis=1, keepdims=True) / held)  # −log q(S)
    x = np.where(distributions.inside, above - np.log(held) - distributions.log_probabilities, 0.0)
    near = exp_remainder(np.clip(x, -NEAR, NEAR))
    matched = distributions.probabilities * np.where(np.abs(x) < NEAR, near, np.expm1(x) - x)
    moved = distributions.probabilities * np.expm1(x - lost) + beyond / held * np.exp(-lost)
    excess = distributions.weight @ (lost[:, 0] + matched.sum(axis=1))
    return float(excess), distributions.weight[:, None] * moved


def relative_gap(
    logits: Float[np.ndarray, "m V"], distributions: Distributions, ridge: float
) -> float:
    """How far CE(L) + λ‖L‖_* is from its minimum over all L, at most, in units of λ‖L‖_*.

    With A = (P − softmax L) π / λ and s = max(1, ‖A‖₂), the distributions p + (q − p) / s are dual
    feasible; their entropy is a lower bound of the minimum. Infinite at L = 0 unless L = 0 is the
    minimum. Cost O(m V min(m, V)).
    """
    _, gradient = excess_and_gradient(logits, distributions)
    scale = max(1.0, spectral_norm(gradient) / ridge)
    norm = nuclear_norm(logits)
    linear = norm + float((gradient * logits).sum()) / scale / ridge
    probabilities = distributions.probabilities + gradient / distributions.weight[:, None] / scale
    lost = (
        0.0
        if scale == 1
        else excess_and_gradient(logits, Distributions.of(probabilities, distributions.weight))[0]
    )
    gap = max(linear + lost / ridge, 0.0)
    if norm == 0:
        return np.inf if scale > 1 else 0.0
    return gap / norm
