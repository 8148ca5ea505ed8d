"""Neighbourhoods of a sample, and how much they overlap (Li, Nagarajan, Plumb, Talwalkar 2021)."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.checks import Positive, Range, Shape, checked
from ntpcompanion.validation import as_array


@checked
def box_overlap(centres: Annotated[ArrayLike, Shape("n")], half_width: Positive) -> float:
    """ρ_S = ∫ (1/m Σ_x p_x(x')²)^(1/2) dx' for neighbourhoods U[x − h, x + h] on the line, exactly:
    from 1, where all coincide, to √m. Raises ValueError for centres that are no finite vector, a
    width that is not positive.
    """
    points, h = as_array("centres", centres), half_width
    ends = np.concatenate([points - h, points + h])
    order = np.argsort(ends, kind="stable")
    inside = np.cumsum(np.repeat([1, -1], len(points))[order])[:-1]
    lengths = np.diff(ends[order])
    return float(np.sqrt(np.maximum(inside, 0) / len(points)) @ lengths / (2 * h))


@dataclass(frozen=True)
class Overlap:
    """An estimate of ρ_S.

    Fields
    ------
    value
        the mean over draws.
    stderr
        its standard error over draws of neighbours, for a fixed sample.
    """

    value: float
    stderr: float


@checked
def gaussian_overlap(
    centres: Annotated[ArrayLike, Shape("n d")],
    width: Positive,
    *,
    draws: Annotated[int, Range(2)],
    generator: np.random.Generator,
) -> Overlap:
    """ρ_S for neighbourhoods N(x, σ² I) in any dimension, by importance sampling.

    Parameters
    ----------
    centres
        (m, d), the sample S.
    width
        σ.
    draws
        neighbours, at least 2.
    generator
        draws them.

    Returns
    -------
    Overlap
        between 1 and √m.

    Raises
    ------
    ValueError
        fewer than 2 draws, a width that is not positive, centres that are not finite matrix.

    Notes
    -----
    x' comes from the mixture 1/m Σ p_x; the mean of (m Σ p_x²)^(1/2) / Σ p_x is ρ_S. Every term
    lies in [1, √m] by the inequality of Cauchy and Schwarz, so no draw has much weight. O(draws m).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.generalization import gaussian_overlap
    >>> apart = [[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]]
    >>> found = gaussian_overlap(apart, 0.1, draws=10, generator=np.random.default_rng(0))
    >>> round(found.value, 6)
    2.0
    """
    points = as_array("centres", centres)
    neighbours = draw_neighbours(
        points[generator.integers(len(points), size=draws)], width, generator
    )
    weights = relative_weights(neighbours, points, width)  # Σ = 1 for each neighbour
    terms = np.sqrt(len(points) * (weights**2).sum(axis=1))
    return Overlap(float(terms.mean()), float(terms.std(ddof=1) / draws**0.5))


def draw_neighbours(
    points: Float[np.ndarray, "n d"], sigma: float, generator: np.random.Generator
) -> Float[np.ndarray, "n d"]:
    """One draw x' from N(x, σ² I) for each point x."""
    return points + sigma * generator.standard_normal(points.shape)


def relative_weights(
    neighbours: Float[np.ndarray, "n d"], centres: Float[np.ndarray, "m d"], sigma: float
) -> Float[np.ndarray, "n m"]:
    """Densities p_x(x') of all centres x, divided by their sum for each neighbour x'."""
    squares = ((neighbours**2).sum(1)[:, None] + (centres**2).sum(1)) - 2 * neighbours @ centres.T
    powers = -squares / (2 * sigma**2)
    weights = np.exp(powers - powers.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
