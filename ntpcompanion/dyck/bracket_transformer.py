"""One layer of softmax attention, one of ReLU neurons, read at the first position; its value and
its gradient in closed form.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Bool, Float, Num

from ntpcompanion.checks import Finite, checked
from ntpcompanion.validation import as_array, as_matrix


@dataclass(frozen=True, eq=False)
@checked
class Parameters:
    """θ = (W_Q, W_K, W_V, u) of f_θ(x) = uᵀ σ(W_V h), h = Σ_τ a_τ x_τ, a = softmax_τ (W_K x_τ)ᵀ W_Q
    x_1, σ the ReLU (section 6).

    Fields
    ------
    W_Q, W_K
        (2T, 2T), queries and keys; zeros make the attention uniform.
    W_V
        (m, 2T), a row for each of the m neurons.
    u
        (m,), their output weights.

    Raises
    ------
    ValueError
        what are not arrays of numbers, shapes that do not belong together, no neurons, NaN or
        infinity.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.dyck import Parameters, masked_support, predict
    >>> zero = np.zeros((8, 8))  # T = 4: uniform attention
    >>> W_V = np.hstack([np.ones((1, 4)), np.zeros((1, 4))])
    >>> one = Parameters(zero, zero, W_V, np.array([4.0]))  # one neuron: σ(Σ s_t)
    >>> inputs, targets = masked_support(4, "random")
    >>> bool((predict(one, inputs) == np.maximum(targets, 0)).all())
    True
    """

    W_Q: Float[np.ndarray, "d d"]
    W_K: Float[np.ndarray, "d d"]
    W_V: Float[np.ndarray, "m d"]
    u: Float[np.ndarray, " m"]

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            object.__setattr__(self, name, as_array(name, value))


Inputs = Annotated[Num[np.ndarray, "N T {parameters.W_V.shape[1]}"], Finite]
Active = Bool[np.ndarray, "N {len(parameters.u)}"]


def uniform_attention(W_V: Float[np.ndarray, "m d"], u: Float[np.ndarray, " m"]) -> Parameters:
    """The parameters with W_Q = W_K = 0: every position has weight 1/T."""
    W_V = as_matrix("W_V", W_V, (None, None))
    d = W_V.shape[-1]
    return Parameters(np.zeros((d, d)), np.zeros((d, d)), W_V, u)


@dataclass(frozen=True, eq=False)
class Forward:
    """What f_θ computes on N inputs: the attention `weights` a_τ of the first position, what it
    attends to (`h`), the pre-activations W_V h, and f_θ.
    """

    weights: Float[np.ndarray, "N T"]
    h: Float[np.ndarray, "N d"]
    preactivations: Float[np.ndarray, "N m"]
    values: Float[np.ndarray, " N"]

    @property
    def features(self) -> Float[np.ndarray, "N m"]:
        """σ(W_V h), what a downstream head sees."""
        return np.maximum(self.preactivations, 0)


@checked
def forward(parameters: Parameters, inputs: Inputs) -> Forward:
    """Attention, features and values of inputs (N, T, 2T). Raises ValueError if their last axis is
    not that of `W_V`. O(N (T² d + m d)).
    """
    inputs = np.asarray(inputs)
    logits = np.einsum("ntd,nd->nt", inputs, inputs[:, 0] @ parameters.W_Q.T @ parameters.W_K)
    exponentials = np.exp(logits - logits.max(1, keepdims=True))
    weights = exponentials / exponentials.sum(1, keepdims=True)
    h = np.einsum("nt,ntd->nd", weights, inputs)
    preactivations = h @ parameters.W_V.T
    return Forward(weights, h, preactivations, np.maximum(preactivations, 0) @ parameters.u)


def predict(parameters: Parameters, inputs: Inputs) -> Float[np.ndarray, " N"]:
    """f_θ(x) for inputs (N, T, 2T), read at the first position.

    Parameters
    ----------
    parameters
        θ.
    inputs
        (N, T, 2T).

    Returns
    -------
    (N,) array
        the values f_θ(x).

    Examples
    --------
    >>> from ntpcompanion.dyck import masked_support, predict, transferable
    >>> inputs, targets = masked_support(4, "random")
    >>> predict(transferable(4), inputs)[:6].round(6).tolist()
    [-1.0, -1.0, -1.0, -1.0, 1.0, 1.0]
    """
    return forward(parameters, inputs).values


@checked
def squared_loss(
    parameters: Parameters, inputs: Inputs, targets: Annotated[Num[np.ndarray, " N"], Finite]
) -> float:
    """L(θ) = mean (f_θ(x) − f*(x))², without a factor one half.

    Parameters
    ----------
    parameters
        θ.
    inputs
        (N, T, 2T).
    targets
        (N,), f*(x).

    Returns
    -------
    float
        the loss.

    Examples
    --------
    >>> from ntpcompanion.dyck import masked_support, squared_loss, transferable
    >>> inputs, targets = masked_support(4, "random")
    >>> squared_loss(transferable(4), inputs, targets) < 1e-24
    True
    """
    values, targets = predict(parameters, inputs), as_array("targets", targets)
    return float(np.mean((values - targets) ** 2))


@dataclass(frozen=True, eq=False)
class Gradients:
    """∇_θ f_θ(x) for each of N inputs, as factors: the gradients of W_Q, W_K and W_V are outer
    products.

    Fields
    ------
    queries
        two factors, (N, 2T) each: ∂f/∂W_Q = (W_K k) x_1ᵀ, with k = Σ_τ a_τ (x_τ − h)ᵀg x_τ and g =
        ∂f/∂h.
    keys
        likewise: ∂f/∂W_K = (W_Q x_1) kᵀ.
    values
        (N, m) and (N, 2T): ∂f/∂W_V = (u ⊙ 1{W_V h > 0}) hᵀ.
    u
        (N, m): ∂f/∂u = σ(W_V h).
    """

    queries: tuple[Float[np.ndarray, "N d"], Float[np.ndarray, "N d"]]
    keys: tuple[Float[np.ndarray, "N d"], Float[np.ndarray, "N d"]]
    values: tuple[Float[np.ndarray, "N m"], Float[np.ndarray, "N d"]]
    u: Float[np.ndarray, "N m"]

    def flat(self) -> Float[np.ndarray, "N P"]:
        """All P entries in the order W_Q, W_K, W_V, u of `dyck.network.Network`. Memory O(N P)."""
        outer = [
            np.einsum("ni,nj->nij", *pair).reshape(len(self.u), -1)
            for pair in (self.queries, self.keys, self.values)
        ]
        return np.concatenate([*outer, self.u], 1)

    def squared_norms(self) -> Float[np.ndarray, "N 4"]:
        """The squared norm of each input's gradient, apart for W_Q, W_K, W_V and u, without the
        products.
        """
        pairs = [
            (left**2).sum(1) * (right**2).sum(1)
            for left, right in (self.queries, self.keys, self.values)
        ]
        return np.stack([*pairs, (self.u**2).sum(1)], 1)


@checked
def gradients(
    parameters: Parameters,
    inputs: Inputs,
    active: Active | None = None,
) -> Gradients:
    """The gradient of the value at each input, in closed form.

    Parameters
    ----------
    parameters
        θ.
    inputs
        (N, T, 2T).
    active
        (N, m), 1{W_V h > 0}. Give it where pre-activations may be exactly zero
        (`Neurons.preactivations` knows from integers): in float64 a zero may come out positive. By
        default, the sign of the rounded one.

    Returns
    -------
    Gradients
        of the four matrices, as factors; `flat` multiplies them out.

    Examples
    --------
    >>> from ntpcompanion.dyck import gradients, masked_support, transferable
    >>> inputs, targets = masked_support(4, "random")
    >>> gradients(transferable(4), inputs).flat().shape  # 64 + 64 + 2 · 8 + 2 parameters
    (48, 146)
    """
    state = forward(parameters, inputs)
    if active is None:
        active = state.preactivations > 0
    first = inputs[:, 0].astype(float)
    out = active * parameters.u
    g = out @ parameters.W_V
    scores = np.einsum("ntd,nd->nt", inputs, g)
    slopes = state.weights * (scores - np.einsum("nd,nd->n", state.h, g)[:, None])
    k = np.einsum("nt,ntd->nd", slopes, inputs)
    queries = (k @ parameters.W_K.T, first)
    return Gradients(
        queries, (first @ parameters.W_Q.T, k), (out, state.h), state.features * active
    )
