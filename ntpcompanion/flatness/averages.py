"""Means over an ensemble with their errors, ratios and exponents of them, and their limit at
learning rate zero.
"""

from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor

from ntpcompanion.checks import Between, Finite, Is, Shape, checked, need
from ntpcompanion.validation import as_array, is_tensor

Vector = Annotated[ArrayLike, Shape("n")]
PositiveVector = Annotated[ArrayLike, Shape("n"), Between(0, np.inf)]
Abscissae = Annotated[Vector, Is(lambda x: len(np.unique(x)) > 1, "hold at least 2 values")]
Replicas = Annotated[
    Float[np.ndarray, "*any replicas"] | Float[Tensor, "*any replicas"],
    Finite,
    Is(lambda values: np.shape(values)[-1] > 1, "hold at least 2 replicas along its last axis"),
]


@checked
def mean_and_error(values: Replicas) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the last axis, and its standard error. Raises ValueError for fewer than two
    replicas.

    Parameters
    ----------
    values
        (…, replicas), independent along the last axis.

    Returns
    -------
    two arrays
        means and standard errors, of the shape of the other axes.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.flatness import mean_and_error
    >>> runs = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    >>> mean, error = mean_and_error(runs)
    >>> mean.tolist(), error.round(4).tolist()
    ([2.0, 0.0], [0.5774, 0.0])
    """
    values = _tensor("values", values)
    replicas = values.shape[-1]
    return values.mean(-1).numpy(), (values.std(-1) / replicas**0.5).numpy()


@checked
def at_rate_zero(rates: Abscissae, values: Vector, errors: PositiveVector) -> tuple[float, float]:
    """The limit at learning rate zero of values with independent standard errors, by a weighted
    straight line, and its standard error.

    Right if the values differ from the limit by a term of first order in the rate, and if higher
    orders are below the errors.

    Raises ValueError for fewer than two rates, values or errors of another number, and errors that
    are not positive and finite.

    Parameters
    ----------
    rates
        two or more different learning rates.
    values
        one for each rate.
    errors
        their standard errors.

    Returns
    -------
    two floats
        the limit, and its standard error.

    Examples
    --------
    >>> from ntpcompanion.flatness import at_rate_zero
    >>> value, error = at_rate_zero([0.1, 0.2, 0.4], [1.1, 1.2, 1.4], [0.01, 0.01, 0.01])
    >>> round(value, 6), round(error, 6)
    (1.0, 0.012247)
    """
    rates, values, errors = map(np.asarray, (rates, values, errors))
    line, covariance = np.polyfit(rates, values, 1, w=1 / errors, cov="unscaled")
    return float(line[1]), float(covariance[1, 1] ** 0.5)


@checked
def exponent(
    scales: Annotated[Abscissae, Between(0, np.inf)], values: PositiveVector, errors: PositiveVector
) -> tuple[float, float]:
    """The exponent k of values ∝ scaleᵏ with independent standard errors, by a weighted straight
    line in logarithms, and its error.

    Right if the errors are small against the values.

    Raises ValueError for scales or values that are not positive and finite, and as `at_rate_zero`.
    """
    scales, values, errors = map(np.asarray, (scales, values, errors))
    line, covariance = np.polyfit(
        np.log(scales), np.log(values), 1, w=values / errors, cov="unscaled"
    )
    return float(line[0]), float(covariance[0, 0] ** 0.5)


Runs = Annotated[Float[np.ndarray, " replicas"] | Float[Tensor, " replicas"], Finite]


@checked(
    need("denominators", "sum(denominators) != 0", "not have mean 0"),
    need("numerators", "len(numerators) > 1", "hold at least 2 replicas"),
)
def ratio_of_means(numerators: Runs, denominators: Runs) -> tuple[float, float]:
    """The mean of one vector over that of another, each with an entry for every run, and the
    standard error of the ratio.

    To first order in the errors of the means, with the correlation of the two within a run.

    Raises ValueError for vectors of different lengths, fewer than two replicas, or denominators
    with mean zero.
    """
    numerators = _tensor("numerators", numerators)
    denominators = _tensor("denominators", denominators)
    below = denominators.mean()
    ratio = numerators.mean() / below
    _, error = mean_and_error(numerators - ratio * denominators)
    return float(ratio), float(error) / abs(float(below))


def _tensor(name: str, values: Tensor | ArrayLike) -> Tensor:
    """Tensors as they are, anything else in float64."""
    return values if is_tensor(values) else torch.tensor(as_array(name, values))
