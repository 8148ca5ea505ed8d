"""The kinematic formula in its exact form: not only where separability should begin, but how
probable it should be at every dimension (Amelunxen, Lotz, McCoy and Tropp 2014).
"""

from typing import Annotated

import numpy as np
from jaxtyping import Float
from scipy.special import comb, dawsn, ndtr

from ntpcompanion.checks import Range, Size, checked

# A Gaussian leaves this range with probability 2e-19.
RANGE = 9.0
# Trapezoidal sums of entire functions; halving these steps moves no result by more than 1e-13.
STEP = 0.02
Vocabulary = Annotated[int, Range(2)]
Support = Annotated[int, Range(1, "vocab_size - 1", "(`vocab_size` − 1)")]


@checked
def face_probabilities(
    vocab_size: Vocabulary, support_size: Support
) -> Float[np.ndarray, " faces"]:
    """The probabilities (V − S + 1,) that k of V − S logits stay below the level when Gaussian
    logits are projected onto C = {x ∈ R^V : x equal on S coordinates, not larger elsewhere}.

    The projection then lies inside a face of 1 + k dimensions. These probabilities are the
    intrinsic volumes of C, and the mean dimension is δ(C), `statistical_dimension`.

    A set of p tokens joins the level if none of them lies below the mean of the n = S + p joined
    coordinates, and the k = V − S − p others lie below it. The two events are independent. The
    first is an orthant probability of correlations that are equal and negative, hence an integral
    over Φ at imaginary arguments; the second is E Φ(M)^k with M ~ N(0, 1/n). Raises `ValueError`
    unless V ≥ 2 and 1 ≤ S < V.
    """
    V, S = vocab_size, support_size
    below = range(V - S + 1)
    chances = [_others_below(k, V - k) * _none_below_mean(V - S - k, V - k) for k in below]
    return comb(V - S, np.array(below)) * np.array(chances)


@checked
def separable_probability(
    vocab_size: Vocabulary, support_size: Support, num_contexts: Size
) -> Float[np.ndarray, " m"]:
    """The probability that m contexts with random supports of S tokens are separable in d = 1 … m
    dimensions, if the subspace of logits were uniformly random: a theorem for V = 2 (Cover's), a
    prediction for more tokens.

    A uniformly random subspace of dimension D in R^N meets a cone that is not a subspace outside of
    0 with probability 2 (v_{N−D+1} + v_{N−D+3} + …), v the intrinsic volumes of the cone. Here N =
    m (V − 1), D = d (V − 1), and those of the product of m cones are the m-fold convolution of
    `face_probabilities`. Cost O(m² (V − S)²). Raises `ValueError` unless V ≥ 2, 1 ≤ S < V and m ≥
    1.
    """
    one = face_probabilities(vocab_size, support_size)
    V, m = vocab_size, num_contexts
    volumes = np.ones(1)
    for _ in range(m):
        volumes = np.convolve(volumes, one)
    volumes = np.append(volumes, np.zeros(m * (V - 1) + 2 - len(volumes)))
    codimensions = (V - 1) * np.arange(m - 1, -1, -1)
    tails = [2 * volumes[codimension + 1 :: 2].sum() for codimension in codimensions]
    return np.minimum(tails, 1.0)


def _others_below(k: int, n: int) -> float:
    """E Φ(M)^k for M ~ N(0, 1/n)."""
    y = np.arange(-RANGE, RANGE, STEP)
    return float(STEP / np.sqrt(2 * np.pi) * (np.exp(-y * y / 2) * ndtr(y / np.sqrt(n)) ** k).sum())


def _none_below_mean(p: int, n: int) -> float:
    """The probability that p of n Gaussians all exceed the mean of the n.

    E Φ(i y / √n)^p with Φ(i √2 x) = ½ + i exp(x²) D(x) / √π, D Dawson's function; the
    exponentials are collected, so that nothing overflows.
    """
    step = STEP / np.sqrt(n)
    x = np.arange(-RANGE, RANGE, step) / np.sqrt(2 * (n - p))
    factor = 0.5 * np.exp(-x * x) + 1j * dawsn(x) / np.sqrt(np.pi)
    total = (np.exp(-(n - p) * x * x) * factor**p).sum().real
    return float(np.sqrt(n / np.pi) * step / np.sqrt(2 * (n - p)) * total)
