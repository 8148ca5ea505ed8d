"""Zero-loss solutions: the one that transfers, random features, a memoriser, and three neurons on
which the proof of Theorem 6.1 breaks.
"""

from typing import Annotated

import numpy as np
from jaxtyping import Int

from ntpcompanion.checks import Is, Size, checked
from ntpcompanion.dyck.balance import balance_neurons
from ntpcompanion.dyck.bracket_counting import minimum_norm_head
from ntpcompanion.dyck.bracket_transformer import Parameters, forward, uniform_attention
from ntpcompanion.dyck.neurons import Neurons
from ntpcompanion.dyck.sentences import Even, MaskSign, Short, masked_support
from ntpcompanion.validation import as_integer_array

# Mean squared error at which least squares counts as interpolation; targets are ±1, and rounding
# leaves some 1e-20.
INTERPOLATES = 1e-12


@checked
def transferable(T: Even, balanced: bool = True) -> Parameters:
    """Solution (1): two neurons with rows ±(1; 0), so that f* = σ(Σ s_t) − σ(−Σ s_t) on any string,
    and uniform attention.

    Balanced, the rows are ±T^{3/4}(1; 0) and u = ±T^{1/4}: the scaling with the smallest trace,
    which is the bound 2/√T. Otherwise they are ±(1; 0) and u = ±T, the same function as the paper
    writes it, with the trace T + 1/T²: not flat.

    Raises ValueError for an odd T.

    Parameters
    ----------
    T
        the length of a sentence, even.
    balanced
        whether the scale is that of the smallest trace.

    Returns
    -------
    a `Parameters`
        θ.

    Examples
    --------
    >>> from ntpcompanion.dyck import transferable
    >>> transferable(4, balanced=False).u.tolist()
    [4.0, -4.0]
    """
    rows = np.outer([1.0, -1.0], np.repeat([1.0, 0.0], T))
    row_scale, u_scale = (T**0.75, T**0.25) if balanced else (1.0, float(T))
    return uniform_attention(row_scale * rows, u_scale * np.array([1.0, -1.0]))


@checked
def transferable_neurons(T: Even) -> Neurons:
    """Solution (1) in integers: directions ±(1; 0), coefficients ±1."""
    return Neurons(np.outer([1, -1], np.repeat([1, 0], T)), np.array([1, -1]))


@checked
def three_neurons(T: Even, mask_sign: MaskSign) -> Neurons:
    """Three neurons of zero loss that attain the bound and do not transfer.

    Two of them share the inputs with f* = +1 according to the first bracket, with brackets (1 +
    e_1) and (1 − e_1); the third is −(1; 0). On the mask, with the "fixed" sign (B) the first two
    have 1/2 and −3/2 at t = 1 and −1/2 elsewhere, and no pre-activation is zero; with the "random"
    sign (B′) they have 1 and −1 at t = 1 and 0 elsewhere, and are zero on some inputs.

    Raises ValueError for another word for `mask_sign`, an odd T.

    Parameters
    ----------
    T
        the length of a sentence, even.
    mask_sign
        "random" or "fixed", see `mask_each`.

    Returns
    -------
    Neurons
        the solution, in integers; its method `parameters` gives θ.

    Examples
    --------
    >>> from ntpcompanion.dyck import lower_bound, masked_support, squared_gradient_norm
    >>> from ntpcompanion.dyck import three_neurons
    >>> inputs, targets = masked_support(4, "fixed")
    >>> solution = three_neurons(4, "fixed").parameters(inputs.sum(axis=1))
    >>> round(squared_gradient_norm(solution, inputs), 6) == lower_bound(4)
    True
    """
    first, ones = np.eye(1, T, dtype=np.int64)[0], np.ones(T, dtype=np.int64)
    if mask_sign == "fixed":
        shared = np.array(
            [
                np.r_[2 * (ones + first), 2 * first - ones],
                np.r_[2 * (ones - first), -2 * first - ones],
            ]
        )
        return Neurons(np.vstack([shared, np.r_[-ones, 0 * ones]]), np.array([1, 1, -3]), 3)
    shared = np.array([np.r_[ones + first, first], np.r_[ones - first, -first]])
    return Neurons(np.vstack([shared, np.r_[-ones, 0 * ones]]), np.array([1, 1, -2]), 2)


@checked
def with_dead_neuron(
    T: Even,
    alpha: Annotated[Int[np.ndarray, "{T}"], Is(lambda alpha: np.any(alpha), "not be all 0")],
) -> Neurons:
    """Counter-example A for the fixed mask sign: solution (1) and a neuron (α; −‖α‖_1 1) that no
    masked input wakes, but strings do.

    Raises ValueError unless α holds T integers that are not all zero.
    """
    alpha = as_integer_array("alpha", alpha)
    base = transferable_neurons(T)
    extra = np.r_[alpha, np.repeat(-np.abs(alpha).sum(), T)]
    return Neurons(np.vstack([base.directions, extra]), np.r_[base.numerators, 0])


def memoriser(T: Short) -> Neurons:
    """Counter-example C for the fixed mask sign: a neuron for each of the N = T·C(T, T/2) inputs,
    on at this one and at no other.

    Its brackets are those of the input. On the mask it has −(T − 2) where the input is masked, so
    that its own input gives T − 1 − (T − 2) = 1 and a bracket that differs makes it negative, and
    −T elsewhere. Every neuron has one value and none cancels: the bound is attained.

    Raises ValueError for an odd T or one out of range.

    Parameters
    ----------
    T
        the length of a sentence, even.

    Returns
    -------
    Neurons
        the solution, in integers; its method `parameters` gives θ.

    Examples
    --------
    >>> from ntpcompanion.dyck import masked_support, memoriser, squared_loss
    >>> inputs, targets = masked_support(4, "fixed")
    >>> solution = memoriser(4).parameters(inputs.sum(axis=1))
    >>> len(solution.u) == len(inputs), squared_loss(solution, inputs, targets) < 1e-24
    (True, True)
    """
    inputs, targets = masked_support(T, "fixed")
    z = inputs.sum(1)
    mask = np.where(z[:, T:] == 1, -(T - 2), -T)
    return Neurons(np.concatenate([z[:, :T], mask], 1), targets)


@checked
def tilted_attention(T: Short, tilt: float) -> Parameters:
    """A zero-loss solution for both mask signs whose attention is not uniform: a bracket at the
    first position weighs the others by sign.

    With x_1 = s_1 e_1, position τ has the logit s_1 s_τ · tilt, the first one log E, and a mask 0;
    a mask at the first position attends uniformly. Two neurons ±v with v = (v_1, T, …, T; 0) then
    give v·h = f* if E = 2 cosh(tilt) + sinh(tilt) − 1 and v_1 = 1 + ((T − 2)(cosh(tilt) − T
    sinh(tilt)) + 1) / E: the four cases of s_1 f* and s_1 times the mask decide these. It is
    balanced, and `transferable` at tilt 0.

    Raises ValueError for an odd T, one out of range, or a tilt that is not finite.
    """
    inputs = masked_support(T, "random")[0]
    E = 2 * np.cosh(tilt) + np.sinh(tilt) - 1
    first, keys = np.eye(1, 2 * T)[0], np.repeat([tilt, 0.0], T)
    keys[0] = np.log(E)
    size = max(np.linalg.norm(keys), np.finfo(float).tiny) ** 0.5
    v = np.repeat([float(T), 0.0], T)
    v[0] = 1 + ((T - 2) * (np.cosh(tilt) - T * np.sinh(tilt)) + 1) / E
    rows = np.outer([1.0, -1.0], v)
    parameters = Parameters(
        size * np.outer(first, first), np.outer(first, keys) / size, rows, np.array([1.0, -1.0])
    )
    return balance_neurons(parameters, inputs)


@checked
def random_features(
    T: Short, width: Size, rng: np.random.Generator, mask_sign: MaskSign = "random"
) -> Parameters:
    """Solution (2): rows of W_V from N(0, I_{2T}), uniform attention, and the u of least norm with
    zero loss.

    Parameters
    ----------
    T
        the length of a sentence, even.
    width
        m, the number of neurons.
    rng
        draws the rows of W_V.
    mask_sign
        "random" or "fixed", see `mask_each`.

    Returns
    -------
    a `Parameters`
        θ.

    Raises
    ------
    ValueError
        no neurons, an odd T or one out of range, another word for `mask_sign`, or a fit that leaves
        an error: then no u gives zero loss. With the fixed mask sign it needs as many neurons as
        inputs, N; with the random one N/2 + 2T, because a ReLU on a symmetric support is a linear
        map (rank 2T) and an even one (rank N/2).

    Notes
    -----
    A singular value decomposition of the (N, width) features.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.dyck import masked_support, random_features, squared_loss
    >>> inputs, targets = masked_support(4, "random")
    >>> solution = random_features(4, 64, np.random.default_rng(0))
    >>> squared_loss(solution, inputs, targets) < 1e-20
    True
    """
    inputs, targets = masked_support(T, mask_sign)
    return with_least_norm_head(
        uniform_attention(rng.standard_normal((width, 2 * T)), np.zeros(width)), inputs, targets
    )


@checked
def with_least_norm_head(
    parameters: Parameters, inputs: Int[np.ndarray, "N T d"], targets: Int[np.ndarray, " N"]
) -> Parameters:
    """The same attention and neurons with the u of least norm that interpolates the targets.

    With the random mask sign −x is an input beside x, the logits of the attention are the same for
    both, and f(x) − f(−x) = uᵀ W_V h: at zero loss 2f* is linear in h. Uniform attention allows
    that, `tilted_attention` too, but hardly any other.

    Raises ValueError if the least squares fit leaves a mean squared error above 1e-12: it alone
    decides, not the number of neurons.
    """
    features = forward(parameters, inputs).features
    u = minimum_norm_head(features, targets)
    if (error := float(np.mean((features @ u - targets) ** 2))) > INTERPOLATES:
        size, width = features.shape
        raise ValueError(
            f"{width} neurons do not interpolate the {size} inputs: the best output weights leave "
            f"a mean squared error of {error:.3g}. "
            "Take more neurons; with the random mask sign, also attention that makes f* linear in "
            "h, such as the uniform one."
        )
    return Parameters(parameters.W_Q, parameters.W_K, parameters.W_V, u)
