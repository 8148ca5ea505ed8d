"""Where separability should begin for random supports: a prediction from conic geometry (Amelunxen,
Lotz, McCoy and Tropp 2014).
"""

from collections.abc import Sequence
from typing import SupportsIndex

import numpy as np
from jaxtyping import Integer
from scipy.special import ndtr, wofz

from ntpcompanion.validation import as_integer

# A Gaussian leaves this range with probability 2e-17, and exp(−8.5²/2) = 2e-16.
RANGE = 8.5
# A function of Gaussians with Lipschitz constant L strays further than 8 L from its mean with
# probability 2 exp(−8²/2) = 3e-14.
STRAY = 8.0
# Steps of the outer sum, in units of the narrowest feature of its integrand, 1/√V: the sum then
# errs by about exp(−8π²).
STEP = 0.5


def statistical_dimension(vocab_size: SupportsIndex, support_size: SupportsIndex) -> float:
    """δ(C) = E‖Π_C g‖² of the cone C = {x ∈ R^V : x equal on S coordinates, not larger elsewhere},
    g standard normal.

    Parameters
    ----------
    vocab_size
        V, at least 1.
    support_size
        S in 1 … V.

    Returns
    -------
    float
        δ, between 1 (S = V: a line) and V. Against closed forms (V − S ≤ 3) the error is at
        rounding, below 1e-14; elsewhere finer steps move the result by less than 1e-11 up to V =
        5000.

    Raises
    ------
    ValueError
        Sizes that are not integers in these ranges.

    Notes
    -----
    Π_C pools: with M the mean of g over the S coordinates, the level c solves S (c − M) = Σ_v (g_v
    − c)₊, sum over the others; coordinates above c come down to it, those below stay. So Π_C g lies
    inside a face of dimension 1 + #{v : g_v < c}, and δ is the mean dimension of that face, 1 + (V
    − S) P(g_1 < c). The left side minus the right is increasing in c; hence g_1 < c at g_1 = x
    means that X = S (M − x) + Σ_{v ≠ 1} (g_v − x)₊ is positive, and

        δ = 1 + (V − S) ∫ φ(x) P(X > 0) dx .

    P(X > 0) comes from the characteristic function of X, which is explicit: all terms are
    independent. Both sums, over x and over frequencies, are trapezoidal or midpoint sums of smooth
    functions, which converge beyond any power of the step.

    Cost O(V) values of the Faddeeva function: 5 ms at V = 10, 0.1 s at V = 1000, S = 1; less for
    larger S.

    Examples
    --------
    >>> from ntpcompanion.linear.thresholds.threshold import statistical_dimension
    >>> round(statistical_dimension(10, 10), 6)  # a line
    1.0
    >>> round(statistical_dimension(10, 1), 4)
    8.0079
    """
    V = as_integer("vocab_size", vocab_size, 1)
    S = _support_size(support_size, V)
    if S == V:
        return 1.0
    step = STEP / np.sqrt(V)
    last = np.ceil(RANGE / step)
    total = sum(
        _density(x) * _probability_above(x, V, S) for x in step * np.arange(-last, last + 1)
    )
    return float(1 + (V - S) * step * total)


def predicted_threshold(
    vocab_size: SupportsIndex,
    support_size: SupportsIndex | Sequence[SupportsIndex] | Integer[np.ndarray, " contexts"],
) -> float:
    """The d / m at which tables with Gaussian embeddings and random supports should become
    separable: 1 − (δ − 1) / (V − 1).

    Parameters
    ----------
    vocab_size
        V, at least 2.
    support_size
        S, one size for all contexts, or a size for each (or for each of equally frequent kinds):
        then δ is averaged, a conjecture.

    Returns
    -------
    float
        A number in (0, 1). A context with S = V counts as 1: all its logits are tied, which takes
        one of the d dimensions away from the others.

    Raises
    ------
    ValueError
        Sizes that are not integers in 1 … V, none at all, or all of them V: then W = 0 separates in
        any dimension, and nothing begins.

    Examples
    --------
    >>> from ntpcompanion.linear import predicted_threshold
    >>> round(predicted_threshold(10, 1), 4), round(predicted_threshold(10, [1, 5]), 4)
    (0.2213, 0.4477)
    """
    V = as_integer("vocab_size", vocab_size, 1)
    # as objects: a float among integers must not turn all into floats
    support_sizes = np.ravel(np.array(support_size, dtype=object))
    sizes, contexts = np.unique(
        [_support_size(size, V) for size in support_sizes], return_counts=True
    )
    if sizes.size == 0:
        raise ValueError("`support_size` is empty: give one size, or one for each context.")
    if sizes[0] == V:
        raise ValueError(
            f"`support_size` must be below `vocab_size` = {V} for some context: else no token has "
            "to be beaten."
        )
    delta = np.average([statistical_dimension(V, size) for size in sizes], weights=contexts)
    return float(1 - (delta - 1) / (V - 1))


def _probability_above(x: float, V: int, S: int) -> float:
    """P(X > 0) for X = S (M − x) + Σ (g_v − x)₊ over V − S − 1 of the g_v.

    With ψ the characteristic function, the midpoint sum h/π Σ_k Im ψ(t_k)/t_k at t_k = (k + ½) h is
    exactly ½ E sign sin(h X / 2), which is P(X > 0) − ½ as long as |X| < 2π/h. X is Lipschitz in g
    with constant below √V, so h follows from its mean. |ψ(t)| ≤ exp(−S t²/2) ends the sum.
    """
    mean = (V - S - 1) * (_density(x) - x * ndtr(-x)) - S * x
    stray = STRAY * np.sqrt(V)
    if abs(mean) > stray:
        return float(mean > 0)
    h = 2 * np.pi / (abs(mean) + stray)
    t = h * (np.arange(np.ceil(RANGE / np.sqrt(S) / h)) + 0.5)
    # E exp(i t (g − x)₊)
    one = ndtr(x) + _density(x) * np.sqrt(np.pi / 2) * wofz((t + 1j * x) / np.sqrt(2))
    psi = one ** (V - S - 1) * np.exp(-S * t * t / 2 - 1j * t * S * x)
    return float(0.5 + h / np.pi * (psi.imag / t).sum())


def _density(x: float) -> float:
    return np.exp(-x * x / 2) / np.sqrt(2 * np.pi)


def _support_size(value: SupportsIndex, V: int) -> int:
    return as_integer("support_size", value, 1, V, "(`vocab_size`)")
