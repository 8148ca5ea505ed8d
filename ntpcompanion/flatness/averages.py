"""Means over an ensemble with their errors, ratios and exponents of them, and their limit at
learning rate zero.
"""

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor

from ntpcompanion.validation import as_array, check_finite, is_tensor


def mean_and_error(values: Float[Tensor, "*any replicas"]) -> tuple[np.ndarray, np.ndarray]:
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
    replicas = values.shape[-1] if values.ndim else 0
    if replicas < 2:
        raise ValueError(
            "`values` must hold at least 2 replicas along its last axis for a standard error, got "
            f"{replicas}."
        )
    return values.mean(-1).numpy(), (values.std(-1) / replicas**0.5).numpy()


def at_rate_zero(rates: ArrayLike, values: ArrayLike, errors: ArrayLike) -> tuple[float, float]:
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
    rates, values, errors = _vectors(rates=rates, values=values, errors=errors)
    line, covariance = np.polyfit(rates, values, 1, w=1 / errors, cov="unscaled")
    return float(line[1]), float(covariance[1, 1] ** 0.5)


def exponent(scales: ArrayLike, values: ArrayLike, errors: ArrayLike) -> tuple[float, float]:
    """The exponent k of values ∝ scaleᵏ with independent standard errors, by a weighted straight
    line in logarithms, and its error.

    Right if the errors are small against the values.

    Raises ValueError for scales or values that are not positive and finite, and as `at_rate_zero`.
    """
    scales, values, errors = _vectors(scales=scales, values=values, errors=errors)
    for name, array in (("scales", scales), ("values", values)):
        if not (np.isfinite(array) & (array > 0)).all():
            raise ValueError(
                f"`{name}` must be positive and finite to have logarithms, got {array.tolist()}."
            )
    line, covariance = np.polyfit(
        np.log(scales), np.log(values), 1, w=values / errors, cov="unscaled"
    )
    return float(line[0]), float(covariance[0, 0] ** 0.5)


def ratio_of_means(
    numerators: Float[Tensor, "..."], denominators: Float[Tensor, "..."]
) -> tuple[float, float]:
    """The mean of one vector over that of another, each with an entry for every run, and the
    standard error of the ratio.

    To first order in the errors of the means, with the correlation of the two within a run.

    Raises ValueError for vectors of different lengths, fewer than two replicas, or denominators
    with mean zero.
    """
    numerators = _tensor("numerators", numerators)
    denominators = _tensor("denominators", denominators)
    if numerators.shape != denominators.shape or numerators.ndim != 1:
        got = f"{tuple(numerators.shape)} and {tuple(denominators.shape)}"
        raise ValueError(
            "`numerators` and `denominators` must be vectors with an entry for each replica, got "
            f"shapes {got}."
        )
    if float(below := denominators.mean()) == 0:
        raise ValueError("`denominators` must not have mean 0: the ratio is not defined.")
    ratio = numerators.mean() / below
    _, error = mean_and_error(numerators - ratio * denominators)
    return float(ratio), float(error) / abs(float(below))


def _tensor(name: str, values: Tensor | ArrayLike) -> Tensor:
    """Finite values as a tensor: tensors as they are, anything else in float64."""
    entries = as_array(name, values)
    check_finite(name, entries)
    return values if is_tensor(values) else torch.tensor(entries)


def _vectors(**arguments: ArrayLike) -> list[np.ndarray]:
    """The abscissae, the values and their errors of a weighted line, or a ValueError that names the
    fault.
    """
    abscissae, values, errors = vectors = [as_array(*argument) for argument in arguments.items()]
    first, second, third = arguments
    if (
        abscissae.ndim != 1
        or len(np.unique(abscissae)) < 2
        or len({vector.shape for vector in vectors}) > 1
    ):
        got = f"{abscissae.shape}, {values.shape} and {errors.shape}"
        raise ValueError(
            f"`{first}`, `{second}` and `{third}` must be vectors of one length, with at least 2 "
            f"different {first}, got shapes {got}."
        )
    check_finite(second, values)
    if not (np.isfinite(errors) & (errors > 0)).all():
        raise ValueError(f"`{third}` must be positive and finite, got {errors.tolist()}.")
    return vectors
