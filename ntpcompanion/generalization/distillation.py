"""Self-distillation in linear regression by gradient flow: the student is the teacher with a
stopping time of its own in every eigendirection (Nagarajan et al. 2023).
"""

from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.checks import Between, Positive, Range, Shape, checked
from ntpcompanion.validation import as_array

Rates = Annotated[
    ArrayLike, Shape("n"), Between(0, np.inf, "so leave out directions with eigenvalue 0")
]
Squares = Annotated[ArrayLike, Shape("n"), Range(0)]


@checked
def flow_filter(eigenvalues: Rates, time: Positive) -> Float[np.ndarray, " n"]:
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
    return np.asarray(-np.expm1(-as_array("eigenvalues", eigenvalues) * time))


@checked
def student_filter(
    eigenvalues: Rates, *, student_time: Positive, teacher_time: Positive
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
    return flow_filter(eigenvalues, student_time) * flow_filter(eigenvalues, teacher_time)


@checked
def effective_time(
    eigenvalues: Rates, *, student_time: Positive, teacher_time: Positive
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
    rates = as_array("eigenvalues", eigenvalues)
    first, last = sorted([student_time, teacher_time])
    both = student_filter(rates, student_time=first, teacher_time=last)
    left = np.exp(-rates * (last - first)) * flow_filter(rates, first)
    early = -np.log1p(-np.minimum(both, 0.5)) / rates
    return np.where(both < 0.5, early, first - np.log1p(left) / rates)


@checked
def filter_risk(
    fractions: Annotated[ArrayLike, Shape("*times n")], *, signal: Squares, noise: Squares
) -> Float[np.ndarray, "..."]:
    """The expected squared error on the training inputs against the noiseless targets, Σ_i (1 −
    a_i)² c_i + a_i² v_i: a the fractions that a filter keeps, c squared components of the targets,
    v variances of the noise. Raises ValueError for other shapes, infinite entries, a negative
    signal or noise.
    """
    factors = as_array("fractions", fractions)
    squares, variances = as_array("signal", signal), as_array("noise", noise)
    return np.asarray((1 - factors) ** 2 @ squares + factors**2 @ variances)
