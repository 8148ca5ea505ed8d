"""Sums of contributions of which a random part is dropped and the rest rescaled (DARE, DAREx)."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ntpcompanion.checks import Between, Is, Length, Range, Shape, checked
from ntpcompanion.randomness import stream

Contributions = Annotated[ArrayLike, Shape("n")]
Few = Annotated[Contributions, Is(lambda values: len(values) <= 16, "have at most 16 terms")]
Probability = Annotated[float, Between(0, 1)]


@checked
def least_error_divisor(p: Probability, ratio: Annotated[float, Range(0)]) -> float:
    """The divisor q* = 1 − p + p Q / S² of least mean square error; never below DARE's 1 − p.

    Parameters
    ----------
    p
        the probability with which a term is dropped.
    ratio
        Q / S² with S = Σ_j c_j and Q = Σ_j c_j²; for several outputs, the sum of Q over that of S².

    Returns
    -------
    float
        what terms that are kept are divided by.

    Examples
    --------
    >>> from ntpcompanion.adaptation.dropped_deltas import least_error_divisor
    >>> round(least_error_divisor(0.9, 0.5), 6)
    0.55
    """
    return 1 - p + p * ratio


@checked
def kearns_saul_constant(p: Probability) -> float:
    """Φ(p) = (1 − 2p) / log((1 − p) / p), the least with E exp(t (δ − E δ)) ≤ exp(Φ t² / 4) for a
    coin δ of probability p; ½ at p = ½.
    """
    odds = np.log1p(-p) - np.log(p)
    return 0.5 if abs(odds) < 1e-6 else float((1 - 2 * p) / odds)


@checked
def dropped_bound(
    contributions: Contributions, p: Probability, gamma: Probability, *, root: bool = True
) -> float:
    """What the error of DARE exceeds with probability at most γ:
    abs(Σ_j c_j (1 − δ_j / (1 − p))) ≤ √Φ(p) / (1 − p) · √(Σ_j c_j²) · √log(2 / γ).

    Parameters
    ----------
    contributions
        (n,), the c_j: for one output of a linear layer the products ΔW_j x_j.
    p
        the probability with which a term is dropped (δ_j = 0).
    gamma
        the probability γ of a larger error.
    root
        whether Φ stands under the root; otherwise the bound is false.

    Returns
    -------
    float
        in the units of the contributions.

    Examples
    --------
    >>> from ntpcompanion.adaptation.dropped_deltas import dropped_bound
    >>> round(dropped_bound([1.0], 0.99, 0.009, root=False), 1)  # the error may be 99
    49.6
    """
    phi = kearns_saul_constant(p)
    squares = np.square(np.asarray(contributions, dtype=float)).sum()
    return float((phi**0.5 if root else phi) / (1 - p) * (squares * np.log(2 / gamma)) ** 0.5)


@checked
def violation(contributions: Few, p: Probability, bound: Annotated[float, Range(0)]) -> float:
    """The probability that the error of DARE is above a bound, added up over all 2ⁿ masks.

    Examples
    --------
    >>> from ntpcompanion.adaptation.dropped_deltas import violation
    >>> round(violation([1.0], p=0.99, bound=50.0), 9)  # the error is 99 if the term is kept
    0.01
    """
    c = np.asarray(contributions, dtype=float)
    masks = (np.arange(2 ** len(c))[:, None] >> np.arange(len(c))) & 1
    above = np.abs(c.sum() - masks @ c / (1 - p)) > bound
    number = masks[above].sum(axis=1)
    return float(((1 - p) ** number * p ** (len(c) - number)).sum())


@checked
def worst_violations(
    sizes: Annotated[Sequence[Annotated[int, Range(1, 16)]], Length()],
    dropped: Annotated[Sequence[Probability], Length()],
    gammas: Annotated[Sequence[Probability], Length()],
    seed: int,
) -> pd.DataFrame:
    """The probability of an error above `dropped_bound`, over γ: for each p the largest of all γ,
    and of ones, normal draws around 1 and normal draws around 0 of each size n.

    Parameters
    ----------
    sizes
        n, at most 16.
    dropped, gammas
        values of p and γ.
    seed
        of the draws.

    Returns
    -------
    pd.DataFrame
        columns `p`, `with root`, `without root`; above 1 the bound is false. 2ⁿ masks each.

    Examples
    --------
    >>> from ntpcompanion.adaptation.dropped_deltas import worst_violations
    >>> float(worst_violations([1], [0.99], [0.009], seed=0)["without root"].round(3).iloc[0])
    1.111
    """
    normal = {n: stream(seed, f"contributions {n}").standard_normal(n) for n in sizes}
    vectors = [c for n, draws in normal.items() for c in (np.ones(n), 1 + draws, draws)]
    cases = [(c, p, gamma) for c in vectors for p in dropped for gamma in gammas]
    rows = [
        {"p": case[1]}
        | {
            name: violation(*case[:2], dropped_bound(*case, root=root)) / case[2]
            for name, root in (("with root", True), ("without root", False))
        }
        for case in cases
    ]
    return pd.DataFrame(rows).groupby("p").max().reset_index()
