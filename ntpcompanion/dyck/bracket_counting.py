"""The downstream task: count the brackets of any string by a new head on the neurons; exact errors
and the exact chance of none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Annotated, SupportsIndex

import numpy as np
import scipy
from jaxtyping import Float, Int

from ntpcompanion.checks import Is, Length, Range, checked
from ntpcompanion.dyck.bracket_transformer import Parameters, forward
from ntpcompanion.dyck.neurons import Neurons
from ntpcompanion.dyck.sentences import Even, downstream_strings
from ntpcompanion.validation import as_integer, as_matrix, as_shaped

# Share of the largest eigenvalue or singular value below which rounding is taken for zero.
RANK_TOLERANCE = 1e-10
Sizes = Annotated[Sequence[int], Length(), Range(1)]
Draws = Annotated[int, Range(2)]


def success_probability(T: Even, n: SupportsIndex) -> Fraction:
    """The chance that the least-norm head on n independent strings has no error at all, for
    solutions as in Theorem 6.1.

    It has none if and only if a string with f* > 0 and one with f* < 0 are among the n: 1 − 2((1 +
    p)/2)ⁿ + pⁿ with p = C(T, T/2) / 2^T, the share of balanced strings. The paper is reported to
    print 1 − 2^{−n}, which is larger for every n ≥ 1.

    Raises ValueError for n below 0 or an odd T.

    Parameters
    ----------
    T
        the length of a sentence, even.
    n
        the number of strings, at least 0.

    Returns
    -------
    Fraction
        the probability, exactly.

    Examples
    --------
    >>> from ntpcompanion.dyck import success_probability
    >>> success_probability(4, 2)
    Fraction(25, 128)
    """
    p, n = balanced_fraction(T), _samples(n)
    return 1 - 2 * ((1 + p) / 2) ** n + p**n


def expected_error(T: Even, n: SupportsIndex) -> Fraction:
    """The mean error of that head as a share of the variance T of the task: ((1 + p)/2)ⁿ, since
    each sign that is not seen costs one half.

    Raises as `success_probability`.
    """
    p, n = balanced_fraction(T), _samples(n)
    return ((1 + p) / 2) ** n


@checked
def balanced_fraction(T: Even) -> Fraction:
    """The probability p = C(T, T/2) / 2^T that a random string is balanced. Raises ValueError for
    an odd T.
    """
    return Fraction(comb(T, T // 2), 2**T)


@checked
def downstream_features(
    parameters: Parameters,
) -> tuple[Float[np.ndarray, "N m"], Int[np.ndarray, " N"]]:
    """The features σ(W_V h) of all 2^T strings, and what is to be predicted."""
    inputs, targets = downstream_strings(parameters.W_V.shape[1] // 2)
    return forward(parameters, inputs).features, targets


def minimum_norm_head(
    features: Float[np.ndarray, "n m"], targets: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " m"]:
    """û = argmin ‖u‖ subject to features û = targets, or the least-norm least squares fit where no
    head interpolates.
    """
    features = as_matrix("features", features, (None, None))
    targets = as_shaped("targets", targets, (len(features),))
    return scipy.linalg.lstsq(features, targets.astype(float), cond=RANK_TOLERANCE)[0]


def population_error(
    features: Float[np.ndarray, "N m"],
    targets: Int[np.ndarray, " N"],
    head: Float[np.ndarray, " m"],
) -> float:
    """Mean squared error of a head as a share of the variance of the task, with the features of all
    strings: no sampling.
    """
    features = as_matrix("features", features, (None, None))
    targets = as_shaped("targets", targets, (len(features),))
    head = as_shaped("head", head, (features.shape[1],))
    return float(np.mean((features @ head - targets) ** 2) / np.mean(targets**2))


@checked
def best_head_error(neurons: Neurons) -> Fraction:
    """The least mean squared error that any head on integer neurons reaches on all 2^T strings, as
    a share of the variance T, exactly.

    Where it is not zero, no number of samples is enough. Normal equations over fractions: for a few
    neurons.
    """
    from sympy import QQ  # half a second, for exact errors only
    from sympy.polys.matrices import DomainMatrix

    inputs, targets = downstream_strings(neurons.directions.shape[1] // 2)
    features = np.maximum(neurons.preactivations(inputs.sum(1)), 0)
    gram, moment, total = features.T @ features, features.T @ targets, int((targets**2).sum())
    augmented = [[QQ(int(entry)) for entry in row] for row in np.column_stack([gram, moment])]
    reduced, pivots = DomainMatrix(augmented, (len(gram), len(gram) + 1), QQ).rref()
    explained = sum(
        reduced[i, len(gram)].element * int(moment[pivot]) for i, pivot in enumerate(pivots)
    )
    return 1 - Fraction(int(explained.numerator), int(explained.denominator)) / total


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Error of the least-norm head against the number of samples, over independent draws.

    Fields
    ------
    sizes
        (k,), numbers n of strings.
    error, error_stderr
        (k,), mean over the draws of the population error as a share of the variance, and its
        standard error.
    exact, exact_stderr
        (k,), the share of draws without any error, and its standard error.
    """

    sizes: Int[np.ndarray, " k"]
    error: Float[np.ndarray, " k"]
    error_stderr: Float[np.ndarray, " k"]
    exact: Float[np.ndarray, " k"]
    exact_stderr: Float[np.ndarray, " k"]


@checked
def learning_curve(
    parameters: Parameters,
    sizes: Sizes,
    draws: Draws,
    rng: np.random.Generator,
    *,
    no_error: float = 1e-12,
) -> LearningCurve:
    """Least-norm heads on n uniform independent strings, for every n in `sizes`; the error is exact
    for each draw, over all 2^T strings.

    Parameters
    ----------
    parameters
        θ, whose features σ(W_V h) the heads read.
    sizes
        numbers of strings; smaller samples are parts of larger ones.
    draws
        how many samples.
    rng
        draws the strings.
    no_error
        share of the variance below which a head counts as exact; larger for trained features, which
        are near a solution, not at it.

    Returns
    -------
    LearningCurve
        for every size the mean error, and the share of draws without error, with standard errors.

    Raises
    ------
    ValueError
        no sizes, one below 1, fewer than 2 draws.

    Notes
    -----
    By the kernel of the features: O(4^T m) once, then O(draws (n³ + 4^T)) for every n. Memory O(4^T
    + draws 2^T).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.dyck import learning_curve, success_probability, transferable
    >>> curve = learning_curve(transferable(4), [2, 8], draws=200, rng=np.random.default_rng(0))
    >>> expected = np.array([float(success_probability(4, n)) for n in (2, 8)])
    >>> bool(np.all(abs(curve.exact - expected) < 4 * curve.exact_stderr))
    True
    """
    features, targets = downstream_features(parameters)
    kernel = features @ features.T
    drawn = rng.integers(len(targets), size=(draws, max(sizes)))
    errors = np.array([_errors(kernel, targets, drawn[:, :n]) for n in sizes])
    return curve_of_draws(sizes, errors, no_error)


def curve_of_draws(
    sizes: Sequence[int], errors: Float[np.ndarray, "k draws"], no_error: float
) -> LearningCurve:
    """Means over the draws, and their standard errors; below `no_error` an error counts as none."""
    draws, exact = errors.shape[1], (errors < no_error).mean(1)
    return LearningCurve(
        np.array(sizes),
        errors.mean(1),
        errors.std(1, ddof=1) / draws**0.5,
        exact,
        np.sqrt(exact * (1 - exact) / draws),
    )


@checked
def pooled(
    curves: Annotated[
        Sequence[LearningCurve],
        Length(2),
        Is(
            lambda curves: len({tuple(curve.sizes) for curve in curves}) == 1,
            "have the same sizes",
        ),
    ],
) -> LearningCurve:
    """The mean of the learning curves of independent draws of the features; its standard errors are
    over these draws.

    Raises ValueError for fewer than two curves, or curves of different sizes.
    """
    error, exact = (
        np.array([getattr(curve, name) for curve in curves]) for name in ("error", "exact")
    )
    spread = [part.std(0, ddof=1) / len(curves) ** 0.5 for part in (error, exact)]
    return LearningCurve(curves[0].sizes, error.mean(0), spread[0], exact.mean(0), spread[1])


def _errors(kernel: np.ndarray, targets: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """The error of the head of every row of drawn strings, as a share of the variance."""
    eigenvalues, vectors = np.linalg.eigh(kernel[drawn[:, :, None], drawn[:, None, :]])
    counts = eigenvalues > RANK_TOLERANCE * eigenvalues[:, -1:]
    inverse = np.divide(1, eigenvalues, out=np.zeros_like(eigenvalues), where=counts)
    dual = np.einsum("dij,dj,dkj,dk->di", vectors, inverse, vectors, targets[drawn], optimize=True)
    weights = np.zeros((len(drawn), len(kernel)))
    np.add.at(weights, (np.arange(len(drawn))[:, None], drawn), dual)
    return ((weights @ kernel - targets) ** 2).mean(1) / np.mean(targets**2)


def _samples(n: SupportsIndex) -> int:
    """A number of samples as a Python integer: powers of fractions overflow with those of NumPy."""
    return as_integer("n", n, 0)
