"""Random features of infinite width on strings of any length, by their kernel: no enumeration of
the 2^T strings.
"""

from math import comb

import numpy as np
from jaxtyping import Float

from ntpcompanion.checks import Positive, checked
from ntpcompanion.dyck.bracket_counting import (
    RANK_TOLERANCE,
    Draws,
    LearningCurve,
    Sizes,
    curve_of_draws,
)
from ntpcompanion.dyck.sentences import Even

# What acts as a ridge in the limit T → ∞, in units of the slope: see `limiting_error`.
RIDGE = 1 - 2 / np.pi


@checked
def arc_cosine_kernel(T: Even) -> Float[np.ndarray, " T_plus_1"]:
    """E σ(α·s) σ(α·s') over α ~ N(0, I_T), by the number of positions 0 … T at which two strings
    differ: (T/2π)(sin φ + (π − φ) cos φ), cos φ = s·s'/T; the limit of the kernel of
    `random_features`. Raises ValueError for an odd T.
    """
    cosine = 1 - 2 * np.arange(T + 1) / T
    angle = np.arccos(cosine)
    return T / (2 * np.pi) * (np.sin(angle) + (np.pi - angle) * cosine)


def squared_kernel(T: Even) -> Float[np.ndarray, " T_plus_1"]:
    """E_r K(s, r) K(r, s') over all strings r, for two strings that differ at 0, 1, …, T positions.

    A string r that differs from s at i of these d positions and at j of the others differs from s'
    at d − i + j: C(d, i) C(T − d, j) strings, all terms positive. ValueError for an odd T. O(T³).
    """
    kernel = arc_cosine_kernel(T)
    values = np.empty(T + 1)
    for d in range(T + 1):
        i, j = np.ogrid[: d + 1, : T - d + 1]
        values[d] = _binomial(d) @ (kernel[i + j] * kernel[d - i + j]) @ _binomial(T - d)
    return values


@checked
def wide_learning_curve(
    T: Even, sizes: Sizes, draws: Draws, rng: np.random.Generator
) -> LearningCurve:
    """Least-norm heads on random features of infinite width after n strings of length T; exact for
    each draw: cᵀ K₂ c − c·f*/2 + T with K c = f* and K₂ of `squared_kernel`, as E_r K(s, r) f*(r) =
    f*(s)/4. Errors are fractions of the variance T. O(draws n³ + T³). Raises ValueError for an odd
    T, no sizes, one below 1, fewer than 2 draws.
    """
    kernel, squared = arc_cosine_kernel(T), squared_kernel(T)
    strings = rng.choice(np.array([-1, 1]), (draws, max(sizes), T))
    errors = np.array([[_error(kernel, squared, s[:n]) for s in strings] for n in sizes])
    return curve_of_draws(sizes, errors, no_error=1e-12)


@checked
def limiting_error(strings_per_position: Positive) -> float:
    """The limit of the mean error of wide random features as T → ∞ with n/T fixed, as a fraction of
    the variance: all beyond the linear part of the kernel acts as a ridge δ = 1 − 2/π on a linear
    target (Marchenko and Pastur). With the positive root μ of δμ² + (δ + n/T − 1)μ − 1 = 0 it is δ²
    (μ² + μ)/(2δμ + δ + n/T − 1). Raises ValueError for a ratio that is not positive.
    """
    ratio = strings_per_position
    linear = RIDGE + ratio - 1
    mean_inverse = (np.sqrt(linear**2 + 4 * RIDGE) - linear) / (2 * RIDGE)
    slope = (mean_inverse**2 + mean_inverse) / (2 * RIDGE * mean_inverse + linear)
    return float(RIDGE**2 * slope)


def _error(kernel: np.ndarray, squared: np.ndarray, strings: np.ndarray) -> float:
    """The mean squared error over all strings of the head on these, as a fraction of the
    variance.
    """
    T, targets = strings.shape[1], strings.sum(1)
    apart = (T - strings @ strings.T) // 2
    eigenvalues, vectors = np.linalg.eigh(kernel[apart])
    usable = vectors[:, eigenvalues > RANK_TOLERANCE * eigenvalues[-1]]
    dual = usable @ (usable.T @ targets / eigenvalues[-usable.shape[1] :])
    return float(dual @ squared[apart] @ dual - dual @ targets / 2 + T) / T


def _binomial(n: int) -> Float[np.ndarray, " n_plus_1"]:
    """The probabilities of 0, …, n successes in n tosses of a fair coin."""
    return np.array([comb(n, k) / 2**n for k in range(n + 1)])
