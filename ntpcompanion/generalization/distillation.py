"""Self-distillation in linear regression by gradient flow: the student is the teacher with a
stopping time of its own in every eigendirection (Nagarajan et al. 2023).
"""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.validation import as_array, as_positive, as_shaped, check_finite


def flow_filter(eigenvalues: ArrayLike, time: float) -> Float[np.ndarray, " n"]:
    """The fraction of a target that gradient flow has fitted: 1 − exp(−λt) along each eigenvector.

    Linear regression of y on rows X with the loss ‖y − Xθ‖²/2, from θ = 0: the predictions on the
    training inputs are A(t) y with A(t) = I − exp(−t XXᵀ).

    Parameters
    ----------
    eigenvalues
        λ (n,) of XXᵀ, positive.
    time
        t, positive.

    Returns
    -------
    (n,) array
        the eigenvalues of A(t), between 0 and 1, without cancellation at small λt.

    Raises
    ------
    ValueError
        eigenvalues or a time that are not positive and finite.

    Notes
    -----
    k steps of gradient descent of size η are the flow for the time kη with the eigenvalues
    −log(1 − ηλ)/η, if ηλ < 1.

    Examples
    --------
    >>> from ntpcompanion.generalization import flow_filter
    >>> flow_filter([1, 2], time=1).round(4).tolist()
    [0.6321, 0.8647]
    """
    return np.asarray(-np.expm1(-_positive("eigenvalues", eigenvalues) * as_positive("time", time)))


def student_filter(
    eigenvalues: ArrayLike, *, student_time: float, teacher_time: float
) -> Float[np.ndarray, " n"]:
    """The same fraction for a student that is trained on the predictions of a teacher: A(s) A(t).

    Parameters
    ----------
    eigenvalues
        λ (n,) of XXᵀ, positive.
    student_time, teacher_time
        s and t.

    Returns
    -------
    (n,) array
        the products, below both factors.

    Raises
    ------
    ValueError
        as `flow_filter`.

    Examples
    --------
    >>> from ntpcompanion.generalization import student_filter
    >>> student_filter([1, 2], student_time=1, teacher_time=1).round(4).tolist()
    [0.3996, 0.7476]
    """
    student = flow_filter(eigenvalues, as_positive("student_time", student_time))
    return student * flow_filter(eigenvalues, as_positive("teacher_time", teacher_time))


def effective_time(
    eigenvalues: ArrayLike, *, student_time: float, teacher_time: float
) -> Float[np.ndarray, " n"]:
    """When a teacher would have to stop to equal the student, in each eigendirection:
    1 − exp(−λτ(λ)) = (1 − exp(−λs)) (1 − exp(−λt)).

    Parameters
    ----------
    eigenvalues
        λ (n,), positive.
    student_time, teacher_time
        s and t.

    Returns
    -------
    (n,) array
        τ, strictly increasing in λ, from λst at small λ to min(s, t) at large ones.

    Raises
    ------
    ValueError
        as `flow_filter`.

    Notes
    -----
    Relative error of a few units of rounding: where the product is at least 1/2, τ is computed as
    min(s, t) less a logarithm, which does not saturate.

    Examples
    --------
    >>> from ntpcompanion.generalization import effective_time
    >>> effective_time([0.001, 1, 100], student_time=2, teacher_time=3).round(4).tolist()
    [0.006, 1.7238, 2.0]
    """
    rates = _positive("eigenvalues", eigenvalues)
    times = as_positive("student_time", student_time), as_positive("teacher_time", teacher_time)
    first, last = min(times), max(times)
    both = student_filter(rates, student_time=first, teacher_time=last)
    left = np.exp(-rates * (last - first)) * flow_filter(rates, first)
    early = -np.log1p(-np.minimum(both, 0.5)) / rates
    return np.where(both < 0.5, early, first - np.log1p(left) / rates)


def filter_risk(
    fractions: ArrayLike, *, signal: ArrayLike, noise: ArrayLike
) -> Float[np.ndarray, "..."]:
    """The expected squared error of predictions on the training inputs against the noiseless
    targets: Σ_i (1 − a_i)² c_i + a_i² v_i.

    Parameters
    ----------
    fractions
        a (..., n), what each filter keeps of the target along each eigenvector.
    signal
        c (n,), squared components of the noiseless targets, not negative.
    noise
        v (n,), variances of the noise along the eigenvectors, not negative.

    Returns
    -------
    (...) array
        one risk for each filter: bias plus variance, in squared units of the targets.

    Raises
    ------
    ValueError
        other shapes, entries that are not finite, a negative signal or noise.

    Examples
    --------
    >>> from ntpcompanion.generalization.distillation import filter_risk
    >>> filter_risk([[1, 1], [1, 0]], signal=[4, 0], noise=[0.1, 0.1]).tolist()
    [0.2, 0.1]
    """
    factors = as_array("fractions", fractions)
    check_finite("fractions", factors)
    if factors.ndim < 1:
        raise ValueError("`fractions` must have an entry for each eigenvector, got a number.")
    squares = _not_negative("signal", signal, factors.shape[-1])
    variances = _not_negative("noise", noise, factors.shape[-1])
    return np.asarray((1 - factors) ** 2 @ squares + factors**2 @ variances)


def _positive(name: str, value: ArrayLike) -> Float[np.ndarray, " n"]:
    values = as_shaped(name, value, (None,))
    if values.min() <= 0:
        raise ValueError(
            f"`{name}` must be positive, got {values.min():g}. Leave out the directions with "
            "eigenvalue 0."
        )
    return values


def _not_negative(name: str, value: ArrayLike, length: int) -> Float[np.ndarray, " n"]:
    values = as_shaped(name, value, (length,), "one entry for each eigenvector")
    if values.min() < 0:
        raise ValueError(f"`{name}` must not be negative, got {values.min():g}.")
    return values
