"""How well local explanations of a function generalize: neighbourhood fidelity and its mirrored
form (Li, Nagarajan, Plumb, Talwalkar 2021). Exactly for tangents of polynomials, and estimated from
a sample for ridge fits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from numbers import Rational
from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.checks import Is, Length, Positive, Shape, Size, checked
from ntpcompanion.generalization.neighbourhoods import draw_neighbours, relative_weights
from ntpcompanion.validation import as_array

Polynomial = dict[tuple[int, int], Fraction]  # coefficients of x^a δ^b


@dataclass(frozen=True)
class Fidelity:
    """Mean squared errors of explanations, in spite of the name; g_x is the explanation at x.

    Fields
    ------
    neighbourhood
        E_x E_x' (g_x(x') − f(x'))²: the explanation of a point, judged in its neighbourhood.
    mirrored
        E_x E_x' (g_x'(x) − f(x))²: the explanation of a neighbour, judged at the point.
    """

    neighbourhood: Fraction
    mirrored: Fraction


@checked
def tangent_fidelity(
    coefficients: Annotated[Sequence[int], Length()],
    half_width: Annotated[Rational, Is(lambda width: width > 0, "be positive")],
) -> Fidelity:
    """Both fidelities of the tangents of a polynomial, without rounding: x uniform on [0, 1] and
    the neighbours of x uniform on [x − h, x + h].

    Parameters
    ----------
    coefficients
        of f, those of 1, x, x², … in turn; integers or fractions.
    half_width
        h, positive; an integer or a fraction.

    Returns
    -------
    Fidelity
        exact fractions.

    Raises
    ------
    ValueError
        no coefficients, a width that is not positive.

    Notes
    -----
    With x' = x + δ the error of a tangent is Σ_k f_k Σ_{j ≥ 2} C(k, j) x^{k−j} δ^j, and E x^a =
    1/(a + 1), E δ^b = h^b/(b + 1) for even b, else 0. The mirrored form has x' for x and −δ for δ.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from ntpcompanion.generalization import tangent_fidelity
    >>> tangent_fidelity([0, 0, 1], Fraction(1, 2))  # x²: h⁴/5 twice
    Fidelity(neighbourhood=Fraction(1, 80), mirrored=Fraction(1, 80))
    """
    width = Fraction(half_width)
    neighbourhood_error: Polynomial = {}
    mirrored_error: Polynomial = {}
    for k, factor in enumerate(map(Fraction, coefficients)):
        for j in range(2, k + 1):
            _add(neighbourhood_error, (k - j, j), factor * comb(k, j))
            for i in range(k - j + 1):  # (x + δ)^(k−j) (−δ)^j
                term = factor * comb(k, j) * comb(k - j, i) * (-1) ** j
                _add(mirrored_error, (k - j - i, i + j), term)
    return Fidelity(_mean_square(neighbourhood_error, width), _mean_square(mirrored_error, width))


def _add(polynomial: Polynomial, powers: tuple[int, int], term: Fraction) -> None:
    polynomial[powers] = polynomial.get(powers, Fraction(0)) + term


def _mean_square(polynomial: Polynomial, half_width: Fraction) -> Fraction:
    total = Fraction(0)
    for (a, b), left in polynomial.items():
        for (c, d), right in polynomial.items():
            if (b + d) % 2 == 0:
                total += left * right * half_width ** (b + d) / ((a + c + 1) * (b + d + 1))
    return total


@checked
def mirrored_fidelity(
    points: Annotated[ArrayLike, Shape("n d")],
    values: Annotated[ArrayLike, Shape("n")],
    *,
    sample: Annotated[ArrayLike, Shape("m d")],
    sample_values: Annotated[ArrayLike, Shape("m")],
    width: Positive,
    ridge: Positive = 1e-3,
    draws: Size = 4,
    generator: np.random.Generator,
) -> float:
    """The mirrored neighbourhood fidelity of local linear explanations that were fitted to a sample
    by ridge regression, weighted by a Gaussian around the explained neighbour.

    Parameters
    ----------
    points, values
        (n, d), (n,): where explanations are judged, and f there. Test points, or the sample.
    sample, sample_values
        (m, d), (m,): what explanations are fitted to.
    width
        σ of the neighbourhoods N(x, σ² I) and of the weights.
    ridge
        penalty on intercept and slopes; the weights of a fit sum to 1.
    draws
        neighbours x' of each point.
    generator
        draws them.

    Returns
    -------
    float
        mean of (g_x'(x) − f(x))². Only the given values of f are used.

    Raises
    ------
    ValueError
        other shapes, a width or ridge that is not positive, no draws.

    Notes
    -----
    O(draws n (m d² + d³)) time, O(n (m + d²) + m d²) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.generalization import mirrored_fidelity
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> given = {"sample": x, "sample_values": 3 * x[:, 0], "width": 0.2, "ridge": 1e-12}
    >>> error = mirrored_fidelity(x, 3 * x[:, 0], **given, generator=np.random.default_rng(0))
    >>> error < 1e-12
    True
    """
    points, values = as_array("points", points), as_array("values", values)
    sample = as_array("sample", sample)
    sample_values = as_array("sample_values", sample_values)
    errors = []
    for _ in range(draws):
        neighbours = draw_neighbours(points, width, generator)
        predicted = _explain(neighbours, points, sample, sample_values, width, ridge)
        errors.append(((predicted - values) ** 2).mean())
    return float(np.mean(errors))


def _explain(
    neighbours: Float[np.ndarray, "n d"],
    points: Float[np.ndarray, "n d"],
    sample: Float[np.ndarray, "m d"],
    sample_values: Float[np.ndarray, " m"],
    sigma: float,
    ridge: float,
) -> Float[np.ndarray, " n"]:
    """What the explanation of each neighbour predicts at its point."""
    weights = relative_weights(neighbours, sample, sigma)
    rows = np.column_stack([np.ones(len(sample)), sample])
    products = (rows[:, :, None] * rows[:, None]).reshape(len(rows), -1)
    gram = (weights @ products).reshape(len(neighbours), *2 * (rows.shape[1],))
    moments = (weights @ (rows * sample_values[:, None]))[..., None]
    shift = np.tile(np.eye(rows.shape[1]), (len(neighbours), 1, 1))
    shift[:, 1:, 0] = -neighbours  # so that the intercept is the value at the neighbour
    gram = shift @ gram @ shift.transpose(0, 2, 1) + ridge * np.eye(rows.shape[1])
    fitted = np.linalg.solve(gram, shift @ moments)[..., 0]
    return np.asarray(fitted[:, 0] + (fitted[:, 1:] * (points - neighbours)).sum(axis=1))
