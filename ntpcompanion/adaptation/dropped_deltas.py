"""Sums of contributions of which a random part is dropped and the rest rescaled (DARE, DAREx)."""

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from ntpcompanion.checks import Between, Is, Range, Shape, checked

Contributions = Annotated[ArrayLike, Shape("n")]
Few = Annotated[
    ArrayLike, Shape("n"), Is(lambda values: len(values) <= 16, "have at most 16 terms", "Sample.")
]
Probability = Annotated[float, Between(0, 1)]
Positive = Annotated[float, Between(0, np.inf)]


@checked
def dropped_moments(
    contributions: Contributions, p: Probability, q: Positive
) -> tuple[float, float]:
    """Mean and variance of Σ_j c_j (1 − δ_j / q), the error of a sum S = Σ_j c_j of which each
    term is kept (δ_j = 1) with probability 1 − p, independently, and divided by q.

    Parameters
    ----------
    contributions
        (n,), the c_j: for one output of a linear layer the products ΔW_j x_j.
    p
        the probability with which a term is dropped.
    q
        the divisor of the terms that are kept; 1 − p in DARE, where the mean is 0.

    Returns
    -------
    tuple of float
        (1 − (1 − p) / q) S and p (1 − p) / q² Σ_j c_j².

    Examples
    --------
    >>> dropped_moments([1.0, 1.0], p=0.5, q=0.5)
    (0.0, 2.0)
    """
    total, squares = _sums(contributions)
    return (1 - (1 - p) / q) * total, p * (1 - p) / q**2 * squares


@checked
def least_error_divisor(p: Probability, ratio: Annotated[float, Range(0)]) -> float:
    """The divisor q* of least mean square error, 1 − p + p Q / S².

    Parameters
    ----------
    p
        the probability with which a term is dropped.
    ratio
        Q / S² with S = Σ_j c_j and Q = Σ_j c_j²; for several outputs the sum of Q over that of S².
        At least 1 / n.

    Returns
    -------
    float
        never below the 1 − p of DARE.
    """
    return 1 - p + p * ratio


@checked
def least_error_gain(p: Probability, ratio: Annotated[float, Range(0)]) -> float:
    """Mean square error with q* over that with DARE's 1 − p: (1 − p) / (1 − p + p Q / S²)."""
    return (1 - p) / least_error_divisor(p, ratio)


@checked
def kearns_saul_constant(p: Probability) -> float:
    """Φ(p) = (1 − 2p) / log((1 − p) / p), the least with E exp(t (δ − E δ)) ≤ exp(Φ t² / 4) for a
    coin δ of probability p (Kearns and Saul 1998); ½ at p = ½.
    """
    odds = np.log1p(-p) - np.log(p)
    return 0.5 if abs(odds) < 1e-6 else float((1 - 2 * p) / odds)


@checked
def dropped_bound(
    contributions: Contributions, p: Probability, gamma: Probability, *, root: bool = True
) -> float:
    """A bound that the error of DARE exceeds with probability at most γ:
    |Σ_j c_j (1 − δ_j / (1 − p))| ≤ √Φ(p) / (1 − p) · √(Σ_j c_j²) · √log(2 / γ).

    Parameters
    ----------
    contributions, p
        as in `dropped_moments`.
    gamma
        the probability of a larger error.
    root
        whether Φ(p) stands under the root. Without it the bound is false.

    Returns
    -------
    float
        in the units of the contributions.
    """
    phi = kearns_saul_constant(p)
    squares = _sums(contributions)[1]
    return float((phi**0.5 if root else phi) / (1 - p) * (squares * np.log(2 / gamma)) ** 0.5)


@checked
def violation(contributions: Few, p: Probability, bound: Annotated[float, Range(0)]) -> float:
    """The probability that |Σ_j c_j (1 − δ_j / (1 − p))| is above a bound, added up over all masks.

    Parameters
    ----------
    contributions, p
        as in `dropped_moments`, at most 16 terms.
    bound
        in the units of the contributions.

    Returns
    -------
    float
        exact up to rounding. 2ⁿ masks.

    Examples
    --------
    >>> violation([1.0], p=0.99, bound=50.0)  # the error is 99 if the term is kept
    0.01
    """
    c = np.asarray(contributions, dtype=float)
    kept = (np.arange(2 ** len(c))[:, None] >> np.arange(len(c))) & 1
    above = np.abs(c.sum() - kept @ c / (1 - p)) > bound
    number = kept[above].sum(axis=1)
    return float(((1 - p) ** number * p ** (len(c) - number)).sum())


def _sums(contributions: ArrayLike) -> tuple[float, float]:
    c = np.asarray(contributions, dtype=float)
    return float(c.sum()), float((c**2).sum())
