"""Means over an ensemble with their errors, and their limit at learning rate zero."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor


def mean_and_error(values: Float[Tensor, "*any replicas"]) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the last axis, and its standard error. Raises ValueError for fewer than two replicas."""
    replicas = values.shape[-1]
    if replicas < 2:
        raise ValueError(f"`values` must hold at least 2 replicas along its last axis for a standard error, got {replicas}.")
    return values.mean(-1).numpy(), values.std(-1).numpy() / replicas**0.5


def at_rate_zero(rates: ArrayLike, values: ArrayLike, errors: ArrayLike) -> tuple[float, float]:
    """The limit at learning rate zero of values with independent standard errors, by a weighted straight line, and its standard error.

    Right if the values differ from the limit by a term of first order in the rate, and if higher orders are below the errors.

    Raises ValueError for fewer than two rates, values or errors of another number, and errors that are not positive and finite.
    """
    rates, values, errors = np.asarray(rates, float), np.asarray(values, float), np.asarray(errors, float)
    if rates.ndim != 1 or len(np.unique(rates)) < 2 or rates.shape != values.shape or rates.shape != errors.shape:
        got = f"{rates.shape}, {values.shape} and {errors.shape}"
        raise ValueError(
            f"`rates`, `values` and `errors` must be vectors of one length, with at least 2 different rates, got shapes {got}."
        )
    if not (np.isfinite(errors) & (errors > 0)).all():
        raise ValueError(f"`errors` must be positive and finite, got {errors.tolist()}.")
    line, covariance = np.polyfit(rates, values, 1, w=1 / errors, cov="unscaled")
    return float(line[1]), float(covariance[1, 1] ** 0.5)
