"""Parameters of all kinds: with attention of their own, with none, at zero loss and away from
it.
"""

from types import SimpleNamespace

import numpy as np

from ntpcompanion.dyck.balance import balance_neurons
from ntpcompanion.dyck.bracket_transformer import Parameters, forward, gradients
from ntpcompanion.dyck.sentences import masked_support
from ntpcompanion.dyck.solutions import random_features, tilted_attention, with_least_norm_head

SIGNS = ("random", "fixed")


def attentive(T, width, rng, scale=0.5):
    """Random parameters: neither uniform attention nor zero loss."""
    d = 2 * T
    W_Q, W_K = scale * rng.standard_normal((2, d, d))
    return Parameters(W_Q, W_K, rng.standard_normal((width, d)), rng.standard_normal(width))


def attentive_solution(T, width, rng, mask_sign="random", scale=0.5):
    """Random neurons and the output weights that give zero loss, with random attention; tilted
    attention where that has no zero loss.
    """
    found = attentive(T, width, rng, scale)
    if mask_sign == "random":
        tilted = tilted_attention(T, scale * rng.standard_normal())
        found = Parameters(tilted.W_Q, tilted.W_K, found.W_V, found.u)
    return with_least_norm_head(found, *masked_support(T, mask_sign))


def balanced_features(T, width, seed=0):
    return balance_neurons(
        random_features(T, width, np.random.default_rng(seed)), masked_support(T, "random")[0]
    )


def residuals(parameters, inputs):
    """The equality conditions of Lemma D.1 as largest residuals over all inputs: (3), (4), (5), and
    what (6) drops, the gradient in W_Q and W_K.
    """
    state, slopes = forward(parameters, inputs), gradients(parameters, inputs)
    size, length = np.abs(parameters.u), np.sqrt((state.h**2).sum(1))
    single = (state.preactivations > 0) * np.outer(length, size)
    return SimpleNamespace(
        single_value=np.abs(state.features - single).max(),
        cancellation=(state.features @ size - np.abs(state.values)).max(),
        uniformity=np.abs(state.weights - 1 / inputs.shape[1]).max(),
        query_key_gradient=np.sqrt(slopes.squared_norms()[:, :2].sum(1).max()),
    )
