"""Newton steps in a trust region, until a proof closes."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy.optimize import OptimizeResult, minimize

# Norm of a gradient that leaves no direction to a Newton step: some entries above rounding.
STATIONARY = 1e-14


@runtime_checkable
class Problem(Protocol):
    """A smooth function of a vector."""

    def value_and_gradient(
        self, x: Float[np.ndarray, " n"]
    ) -> tuple[float, Float[np.ndarray, " n"]]:
        """The function and its gradient at x."""

    def hessian_product(
        self, x: Float[np.ndarray, " n"], v: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """The derivative of the gradient along v."""


def newton(
    problem: Problem,
    start: Float[np.ndarray, " n"],
    proved: Callable[[Float[np.ndarray, " n"]], bool],
    max_iterations: int,
) -> tuple[Float[np.ndarray, " n"], int]:
    """Minimize by scipy's trust-ncg, whose steps are solved for by conjugate gradients, until
    `proved` says after a step that the point is good enough. Returns the last point and the number
    of steps.
    """

    def ask(intermediate_result: OptimizeResult) -> None:
        if proved(intermediate_result.x):
            raise StopIteration

    result = minimize(
        problem.value_and_gradient,
        start,
        jac=True,
        hessp=problem.hessian_product,
        method="trust-ncg",
        callback=ask,
        options={"maxiter": max_iterations, "gtol": STATIONARY},
    )
    return result.x, result.nit
