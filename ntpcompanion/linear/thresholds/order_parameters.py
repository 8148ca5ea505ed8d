"""Where separability should begin for supports that prefer some tokens: a prediction with two V × V
order parameters.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Bool, Float

from ntpcompanion.checks import Positive, Range, Size, checked
from ntpcompanion.linear.tables.weighted_supports import SupportDistribution
from ntpcompanion.linear.thresholds.tie_projection import mean_stiffness, pool

# Eigenvalues of E J below this share of the largest are raised to it: a token that no draw pools
# would have an infinite response.
SMALLEST_STIFFNESS = 1e-9


@dataclass(frozen=True, eq=False)
class SaddleThreshold:
    """The predicted threshold, and the order parameters at which it is attained.

    Fields
    ------
    ratio
        the predicted d/m, from draws that did not take part in the fit.
    pooled_ratio
        E (#T − 1) / (V − 1) from the same draws: equal to `ratio` at the exact solution.
    covariance
        Σ (V, V), the covariance of the logits of a context that was left out; rows of sum 0, trace
        V − 1. V counts merged tokens once and unused ones not; they stand in the order of their
        first occurrence.
    response
        Λ (V, V), what one multiplier does to the logits of its context; rows of sum 0, trace V − 1.
    change
        the largest change of an entry of Σ or Λ in the last iteration.
    iterations
        how many were made.
    """

    ratio: float
    pooled_ratio: float
    covariance: Float[np.ndarray, "V V"]
    response: Float[np.ndarray, "V V"]
    change: float
    iterations: int


@dataclass(frozen=True, eq=False)
class _Draws:
    supports: Bool[np.ndarray, "n V"]
    weight: Float[np.ndarray, " n"]
    normals: Float[np.ndarray, "n V"]


@checked
def saddle_threshold(
    distribution: SupportDistribution,
    rng: np.random.Generator,
    *,
    draws: Annotated[int, Range(2)] = 20_000,
    iterations: Size = 100,
    tolerance: Positive = 1e-3,
) -> SaddleThreshold:
    """The d/m at which tables with Gaussian embeddings and supports from `distribution` should
    become separable, in the limit of large tables.

        Σ = (m/d) Λ E[γ γᵀ] Λ,    Λ⁻¹ = (m/d) E J

    with ω ~ N(0, Σ), γ the multipliers of its projection onto C_S in the norm of Λ⁻¹, and J their
    derivative. Both hold on the vectors of sum 0, and Σ and Λ each up to a factor.

    Parameters
    ----------
    distribution
        the supports, with their probabilities. Tokens of exactly the same supports are merged, and
        tokens of no support left out where others remain off every support: neither changes
        whether a table is separable.
    rng
        of the normal draws.
    draws
        about how many, dealt to the supports by probability, at least two to each. Below some
        hundreds the ratio means little.
    iterations
        at most.
    tolerance
        on `change`, at which the iteration ends; traces are V − 1.

    Returns
    -------
    SaddleThreshold
        The prediction. Its error from the finite number of draws is seen by calling again with
        another generator.

    Raises
    ------
    ValueError
        No token off any support, or arguments out of range.
    RuntimeError
        The response became numerically singular.

    Notes
    -----
    The equations are those of a saddle point, d/m = min_Σ max_N E dist_N²(ω, C_S) / tr(N Σ), N =
    Λ⁻¹. They are iterated as in the state evolution of approximate message passing. Near the saddle
    the ratio changes in second order only; it is evaluated on fresh draws, so that the fit does not
    bias it. Where few tokens decide, Σ becomes singular and the iteration slow: `change` does not
    say how far the saddle is, `ratio` and `pooled_ratio` differ, and `ratio` may lie below
    `two_token_bound`; the prediction is the larger of the two. Cost O(draws (V² + t³)) an iteration
    with t pooled tokens: 5 s at V = 10 with 20,000 draws.

    Examples
    --------
    One of two tokens: Cover's problem.

    >>> import numpy as np
    >>> from ntpcompanion.linear.thresholds.order_parameters import saddle_threshold
    >>> from ntpcompanion.linear.tables.weighted_supports import weighted_supports
    >>> distribution = weighted_supports([3.0, 1.0], 1)
    >>> round(saddle_threshold(distribution, np.random.default_rng(0), draws=200).ratio, 6)
    0.5
    """
    distribution = _reduced(distribution)
    V = distribution.supports.shape[1]
    covariance = response = np.eye(V) - 1 / V
    fit, fresh = _draw(distribution, draws, rng), _draw(distribution, draws, rng)
    pooled, change, made = fit.supports, np.inf, 0
    while made < iterations and change > tolerance:
        before = covariance, response
        covariance, response, pooled = _iterate(covariance, response, pooled, fit)
        pairs = zip(before, (covariance, response), strict=True)
        change = max(float(np.abs(new - old).max()) for old, new in pairs)
        made += 1
    return SaddleThreshold(
        *_ratios(covariance, response, fresh), covariance, response, change, made
    )


def _iterate(
    covariance: Float[np.ndarray, "V V"],
    response: Float[np.ndarray, "V V"],
    start: Bool[np.ndarray, "n V"],
    drawn: _Draws,
) -> tuple[Float[np.ndarray, "V V"], Float[np.ndarray, "V V"], Bool[np.ndarray, "n V"]]:
    """One step: multipliers and stiffness at the old order parameters give the new Λ, and with it
    the new Σ.
    """
    projection = pool(_definite(response), drawn.normals @ _root(covariance), drawn.supports, start)
    second_moment = (projection.multipliers * drawn.weight[:, None]).T @ projection.multipliers
    response = _inverse(mean_stiffness(_definite(response), projection.pooled, drawn.weight))
    covariance = response @ second_moment @ response
    return _normalized(covariance), _normalized(response), projection.pooled


def _ratios(
    covariance: Float[np.ndarray, "V V"], response: Float[np.ndarray, "V V"], drawn: _Draws
) -> tuple[float, float]:
    """E dist_N²(ω, C) / tr(N Σ), and E (#T − 1) / (V − 1)."""
    projection = pool(_definite(response), drawn.normals @ _root(covariance), drawn.supports)
    squares = np.einsum("nv,nv->n", projection.multipliers @ response, projection.multipliers)
    scale = np.vdot(_inverse(response), covariance)
    sizes = projection.pooled.sum(axis=1) - 1
    return (
        float(drawn.weight @ squares / scale),
        float(drawn.weight @ sizes / (len(response) - 1)),
    )


def _draw(distribution: SupportDistribution, number: int, rng: np.random.Generator) -> _Draws:
    """Normal draws in pairs ±ξ, the pairs dealt to the supports by probability. A support with
    draws enough has exactly the second moments of N(0, I).
    """
    pairs = np.maximum(np.rint(distribution.probability * number / 2).astype(int), 1)
    V = distribution.supports.shape[1]
    half = [_matched(rng.standard_normal((count, V))) for count in pairs]
    return _Draws(
        np.repeat(distribution.supports, 2 * pairs, axis=0),
        np.repeat(distribution.probability / (2 * pairs), 2 * pairs),
        np.concatenate([np.concatenate([xi, -xi]) for xi in half]),
    )


def _matched(normals: Float[np.ndarray, "n V"]) -> Float[np.ndarray, "n V"]:
    """The draws, scaled to second moments I if there are at least two for each coordinate."""
    count, V = normals.shape
    if count < 2 * V:
        return normals
    lower = np.linalg.cholesky(normals.T @ normals / count)
    return np.linalg.solve(lower, normals.T).T


def _definite(matrix: Float[np.ndarray, "V V"]) -> Float[np.ndarray, "V V"]:
    """The same on vectors of sum 0, the identity on constants, which no γ sees."""
    return matrix + 1 / len(matrix)


def _inverse(matrix: Float[np.ndarray, "V V"]) -> Float[np.ndarray, "V V"]:
    """The inverse on vectors of sum 0, where too small eigenvalues are raised."""
    values, vectors = np.linalg.eigh(_definite(matrix * (len(matrix) - 1) / np.trace(matrix)))
    raised = np.maximum(values, SMALLEST_STIFFNESS * values[-1])
    inverse = (vectors / raised) @ vectors.T - 1 / len(matrix)
    return inverse * (len(matrix) - 1) / np.trace(matrix)


def _normalized(matrix: Float[np.ndarray, "V V"]) -> Float[np.ndarray, "V V"]:
    return matrix * (len(matrix) - 1) / np.trace(matrix)


def _root(matrix: Float[np.ndarray, "V V"]) -> Float[np.ndarray, "V V"]:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


def _reduced(distribution: SupportDistribution) -> SupportDistribution:
    """Tokens with equal columns get equal rows of a decoder. A token of no support gets the mean of
    the other rows: less than the largest logit where another token is off support.
    """
    if distribution.supports.all():
        raise ValueError("`distribution` has no token off any support: nothing is to be separated.")
    _, first = np.unique(distribution.supports, axis=1, return_index=True)
    columns = distribution.supports[:, np.sort(first)]
    used = columns[:, columns.any(axis=0)]
    spare = not used.all(axis=1).any()
    return SupportDistribution(used if spare else columns, distribution.probability)
