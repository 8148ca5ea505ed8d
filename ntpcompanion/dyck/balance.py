"""The same function with a smaller trace: how the scale is shared between W_V and u, and where that
leaves random features when wide.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from jaxtyping import Int

from ntpcompanion.checks import checked
from ntpcompanion.dyck.bracket_transformer import Parameters, forward
from ntpcompanion.dyck.sentences import Even


def balance_globally(parameters: Parameters, inputs: Int[np.ndarray, "N T d"]) -> Parameters:
    """W_V times a number and u divided by it, so that the trace of uniform attention is smallest: f
    and the attention stay as they are.

    Parameters
    ----------
    parameters
        uniform attention.
    inputs
        (N, T, 2T), all of them equally likely.

    Returns
    -------
    a `Parameters`
        the same function, with a smaller trace or the same.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.dyck import balance_globally, masked_support, random_features
    >>> from ntpcompanion.dyck import squared_gradient_norm
    >>> inputs, targets = masked_support(4, "random")
    >>> drawn = random_features(4, 64, np.random.default_rng(0))
    >>> flatter = balance_globally(drawn, inputs)
    >>> squared_gradient_norm(flatter, inputs) < squared_gradient_norm(drawn, inputs)
    True
    """
    return _rescaled(
        parameters,
        inputs,
        lambda parts: np.full(parts.shape[1], (parts[1].sum() / parts[0].sum()) ** 0.25),
    )


def balance_neurons(parameters: Parameters, inputs: Int[np.ndarray, "N T d"]) -> Parameters:
    """The same with a number of its own for each neuron; one that is off on all inputs, or has u_j
    = 0, is left alone.

    Parameters
    ----------
    parameters
        uniform attention.
    inputs
        (N, T, 2T), all of them equally likely.

    Returns
    -------
    a `Parameters`
        the same function, with a smaller trace or the same.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.dyck import balance_neurons, masked_support, random_features
    >>> from ntpcompanion.dyck import squared_gradient_norm
    >>> inputs, targets = masked_support(4, "random")
    >>> drawn = random_features(4, 64, np.random.default_rng(0))
    >>> flatter = balance_neurons(drawn, inputs)
    >>> squared_gradient_norm(flatter, inputs) < squared_gradient_norm(drawn, inputs)
    True
    """

    def scales(parts: np.ndarray) -> np.ndarray:
        usable = (parts > 0).all(0)
        return (
            np.where(
                usable, np.divide(parts[1], parts[0], out=np.ones(parts.shape[1]), where=usable), 1
            )
            ** 0.25
        )

    return _rescaled(parameters, inputs, scales)


def _rescaled(
    parameters: Parameters, inputs: np.ndarray, scales: Callable[[np.ndarray], np.ndarray]
) -> Parameters:
    """Of the trace of each neuron, the part of u_j grows with the square of the scale of w_j, and
    that of w_j falls with it.
    """
    state = forward(parameters, inputs)
    norms = (state.h**2).sum(1)
    parts = np.array(
        [
            (state.features**2).mean(0),
            parameters.u**2 * (norms @ (state.preactivations > 0)) / len(inputs),
        ]
    )
    a = scales(parts)
    return Parameters(parameters.W_Q, parameters.W_K, a[:, None] * parameters.W_V, parameters.u / a)


@dataclass(frozen=True)
class WideLimits:
    """E‖∇f‖² of random features with the head of least norm as their number grows, for the random
    mask sign.

    Fields
    ------
    raw
        per neuron: rows from N(0, I) as they are give this times m.
    global_balanced
        after `balance_globally`: T times the bound.
    neuron_balanced
        after `balance_neurons`: about T √(2/π) times the bound.
    """

    raw: float
    global_balanced: float
    neuron_balanced: float


@checked
def wide_limits(T: Even) -> WideLimits:
    """What the traces of `random_features` tend to as width → ∞: m/(2T), 2√T and 2 E[‖g‖ √Q].

    The support is symmetric and spans all 2T coordinates, so that u_j → (2T/m) (1; 0)·w_j, and E
    σ(w·z)² is half of wᵀ E[zzᵀ] w. With g the part of w along (1; 0)/√T, Q = wᵀ E[zzᵀ] w = g²/T + r
    χ²_{T−1} + χ²_T / T, r = (T − 1)/T + (T − 2)/(T(T − 1)), independent. The expectation is the
    integral of (1 − e^{−sQ}) s^{−3/2} / (2√π) = √Q, over s. Raises RuntimeError where this is
    uncertain by more than a millionth.
    """
    r = (T - 1) / T + (T - 2) / (T * (T - 1))

    def integrand(x: float) -> float:
        s = x**2 / T  # ds s^{−3/2} = 2 √T dx / x²; in x the integrand hardly depends on T
        left = -np.expm1(-(1 + T / 2) * np.log1p(2 * s / T) + (1 - T) / 2 * np.log1p(2 * r * s))
        return 2 * left / s / T**0.5

    integral, error = scipy.integrate.quad(integrand, 0, np.inf)
    if not error <= 1e-6 * integral:
        raise RuntimeError(f"`T` = {T}: the integral {integral:.6g} is uncertain by {error:.2g}.")
    return WideLimits(
        1 / (2 * T), 2 * T**0.5, float(2 * (2 / np.pi) ** 0.5 * integral / (2 * np.pi**0.5))
    )
