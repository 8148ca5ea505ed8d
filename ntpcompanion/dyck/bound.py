"""Lemma D.1: the lower bound 2/√T of the squared gradient at zero loss, inequality by inequality,
and when it is attained.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from jaxtyping import Bool, Num

from ntpcompanion.checks import checked
from ntpcompanion.dyck.bracket_transformer import Parameters, forward, gradients, squared_loss
from ntpcompanion.dyck.sentences import Even


@checked
def lower_bound(T: Even) -> float:
    """2/√T, below which E‖∇f‖² of no zero-loss solution falls; tr ∇²L is twice that for L = E(f −
    f*)². ValueError for an odd T.

    Parameters
    ----------
    T
        the length of a sentence, even.

    Returns
    -------
    float
        2/√T.

    Examples
    --------
    >>> from ntpcompanion.dyck import lower_bound
    >>> lower_bound(4)
    1.0
    """
    return 2 / T**0.5


def squared_gradient_norm(
    parameters: Parameters,
    inputs: Num[np.ndarray, "N T d"],
    active: Bool[np.ndarray, "N m"] | None = None,
) -> float:
    """E‖∇_θ f‖² over all parameters (W_Q, W_K, W_V, u), the mean over inputs (N, T, 2T).

    At zero loss, and where no pre-activation is zero, it is half the trace of the Hessian of E(f −
    f*)² (Lemma D.4, which drops the 2). `active` (N, m) replaces the indicators 1{W_V h > 0} where
    these are known exactly.

    Parameters
    ----------
    parameters
        θ.
    inputs
        (N, T, 2T).
    active
        (N, m), 1{W_V h > 0}; by default the sign of the rounded W_V h.

    Returns
    -------
    float
        E‖∇_θ f‖².

    Examples
    --------
    >>> from ntpcompanion.dyck import masked_support, squared_gradient_norm, transferable
    >>> inputs, targets = masked_support(4, "random")
    >>> round(squared_gradient_norm(transferable(4), inputs), 6)  # the lower bound
    1.0
    >>> round(squared_gradient_norm(transferable(4, balanced=False), inputs), 6)
    4.0625
    """
    return float(gradients(parameters, inputs, active).squared_norms().sum(1).mean())


@dataclass(frozen=True)
class Chain:
    """The terms of Lemma D.1, each at least as large as the next. That `no_cancellation` is at
    least `spread` needs zero loss, where they are equal; the other steps hold for any parameters.

    Fields
    ------
    squared_gradient
        E‖∇f‖² over all parameters.
    value_layer
        (6), the part of W_V and u: without that of W_Q and W_K.
    per_neuron
        (7), 2E[‖h‖ Σ_j ‖u_j‖ σ(w_j·h)]: arithmetic and geometric mean of each neuron's two parts.
    no_cancellation
        (8), 2E[‖h‖ ‖f‖]: the triangle inequality.
    spread
        2E‖h‖, the same at zero loss, where ‖f‖ = 1.
    bound
        (9), 2/√T: the least is at uniform attention.
    """

    squared_gradient: float
    value_layer: float
    per_neuron: float
    no_cancellation: float
    spread: float
    bound: float


def chain(
    parameters: Parameters,
    inputs: Num[np.ndarray, "N T d"],
    active: Bool[np.ndarray, "N m"] | None = None,
) -> Chain:
    """The inequalities (6)–(9) of Lemma D.1, term by term, for any parameters and inputs (N, T,
    2T) whose rows are orthonormal, as those of masked sentences. `active` as in `gradients`.
    """
    state, norms = (
        forward(parameters, inputs),
        gradients(parameters, inputs, active).squared_norms().mean(0),
    )
    length = np.sqrt((state.h**2).sum(1))
    return Chain(
        squared_gradient=float(norms.sum()),
        value_layer=float(norms[2:].sum()),
        per_neuron=float(2 * np.mean(length * (state.features @ np.abs(parameters.u)))),
        no_cancellation=float(2 * np.mean(length * np.abs(state.values))),
        spread=float(2 * length.mean()),
        bound=lower_bound(inputs.shape[1]),
    )


def losses_of_moves(
    parameters: Parameters,
    support: tuple[np.ndarray, np.ndarray],
    moves: Num[np.ndarray, " n"],
) -> Num[np.ndarray, " n"]:
    """The losses after each parameter in turn has moved by λ, added up, for each λ: at zero
    loss without kinks ½ λ² tr ∇²L as λ → 0.

    Parameters
    ----------
    parameters
        of the network.
    support
        inputs and targets of all masked sentences, as `masked_support` gives them.
    moves
        the values of λ.

    Returns
    -------
    (n,) array
        the sums of squared losses. Cost: a loss for each parameter and move.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.dyck import losses_of_moves, masked_support, transferable
    >>> losses = losses_of_moves(transferable(4), masked_support(4, "random"), np.array([0, 0.1]))
    >>> bool(losses[0] < 1e-20), bool(losses[1] > 1e-3)
    (True, True)
    """
    losses = np.zeros(len(moves))
    for name, value in vars(parameters).items():
        for index, step in product(np.ndindex(value.shape), range(len(moves))):
            moved = value.astype(float)
            moved[index] += moves[step]
            losses[step] += squared_loss(replace(parameters, **{name: moved}), *support)
    return losses
