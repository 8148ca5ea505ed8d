import math

import numpy as np
import pytest

from ntpcompanion.dyck.bracket_transformer import (
    gradients,
    predict,
    squared_loss,
    uniform_attention,
)
from ntpcompanion.dyck.sentences import masked_support
from tests.dyck.cases import SIGNS, attentive


def by_definition(parameters, x):
    """[f(x)]_1, in loops."""
    T, d = x.shape
    query = [sum(parameters.W_Q[i, j] * x[0, j] for j in range(d)) for i in range(d)]
    scores = [
        sum(
            q * sum(parameters.W_K[i, j] * x[tau, j] for j in range(d)) for i, q in enumerate(query)
        )
        for tau in range(T)
    ]
    total = sum(math.exp(score) for score in scores)
    attended = [
        sum(math.exp(scores[tau]) / total * x[tau, j] for tau in range(T)) for j in range(d)
    ]
    return sum(
        u * max(0.0, sum(w * a for w, a in zip(row, attended, strict=True)))
        for row, u in zip(parameters.W_V, parameters.u, strict=True)
    )


@pytest.mark.parametrize("sign", SIGNS)
def test_values_are_those_of_the_definition(sign, rng):
    parameters, (inputs, _) = attentive(4, 3, rng), masked_support(4, sign)
    assert predict(parameters, inputs) == pytest.approx(
        [by_definition(parameters, x) for x in inputs], rel=1e-12
    )


def test_given_indicators_replace_the_sign_of_rounded_numbers():
    """At a pre-activation of 0.1 + 0.2 − 0.3 in float64."""
    parameters = uniform_attention(np.array([[0.1, 0.2, 0.3, 0]]), np.array([2.0]))
    inputs = np.array([[[1.0, 1, 0, 0], [0, 0, -1, 0]]])
    assert gradients(parameters, inputs).squared_norms()[0, 2] == pytest.approx(4 * 3 / 4)
    assert not gradients(parameters, inputs, np.array([[False]])).squared_norms().any()


def test_the_loss_is_not_halved():
    inputs, targets = masked_support(4, "random")
    assert squared_loss(uniform_attention(np.ones((1, 8)), np.zeros(1)), inputs, targets) == 1
