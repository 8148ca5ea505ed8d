import numpy as np
import pytest
import torch

from ntpcompanion.dyck.bound import squared_gradient_norm
from ntpcompanion.dyck.bracket_transformer import (
    Parameters,
    gradients,
    predict,
    squared_loss,
    uniform_attention,
)
from ntpcompanion.dyck.sentences import masked_support
from ntpcompanion.dyck.solutions import transferable
from ntpcompanion.dyck.value_layer import ValueLayer
from tests.dyck.cases import SIGNS, attentive, balanced_features


def layer_and_jacobian(mask_sign="random", width=40, seed=0):
    """A layer away from zero loss, and the gradients of all its values by
    `transformer.gradients`.
    """
    rng = np.random.default_rng(seed)
    parameters = uniform_attention(rng.standard_normal((width, 8)), rng.standard_normal(width))
    jacobian = gradients(parameters, masked_support(4, mask_sign)[0]).flat()[:, 128:]
    return ValueLayer(parameters, mask_sign), parameters, jacobian


@pytest.mark.parametrize("mask_sign", SIGNS)
def test_products_are_those_of_the_jacobian(mask_sign, rng):
    layer, _, jacobian = layer_and_jacobian(mask_sign)
    weights, direction = rng.standard_normal(len(jacobian)), rng.standard_normal(jacobian.shape[1])
    assert layer.pull(layer.theta, weights) == pytest.approx(jacobian.T @ weights)
    assert layer.push(layer.theta, direction) == pytest.approx(jacobian @ direction)
    rows = np.array([3, 3, 17])
    assert layer.pull(layer.theta, weights[:3], rows) == pytest.approx(
        jacobian[rows].T @ weights[:3]
    )
    reached = jacobian @ direction
    assert jacobian @ jacobian.T @ layer.solve(layer.theta, reached) == pytest.approx(
        reached, abs=1e-5
    )
    assert np.linalg.matrix_rank(jacobian) == (32 if mask_sign == "random" else 24)


@pytest.mark.parametrize("mask_sign", SIGNS)
def test_losses_and_traces_are_those_of_the_whole_transformer(mask_sign):
    layer, parameters, _ = layer_and_jacobian(mask_sign)
    support = masked_support(4, mask_sign)
    assert np.mean(layer.residual(layer.theta) ** 2) == pytest.approx(
        squared_loss(parameters, *support)
    )
    assert layer.residual(layer.theta, np.array([5])) == pytest.approx(
        layer.residual(layer.theta)[5:6]
    )
    assert layer.squared_gradient(layer.theta) == pytest.approx(
        squared_gradient_norm(parameters, support[0])
    )
    W, u = layer.split(layer.theta)
    assert (W == parameters.W_V).all()
    assert (u == parameters.u).all()


def test_uniform_attention_is_never_left():
    """Moving W_Q or W_K alone changes neither f nor, to first order, the squared gradient, which
    has its least value there.
    """
    parameters, inputs = balanced_features(4, 64), masked_support(4, "random")[0]
    rest, move = (
        squared_gradient_norm(parameters, inputs),
        np.random.default_rng(0).standard_normal((8, 8)),
    )
    for name in ("W_Q", "W_K"):
        moved = [
            Parameters(**vars(parameters) | {name: step * move}) for step in (1e-3, 2e-3, -1e-3)
        ]
        assert predict(moved[1], inputs) == pytest.approx(predict(parameters, inputs), abs=1e-15)
        rises = [squared_gradient_norm(found, inputs) - rest for found in moved]
        assert rises[0] == pytest.approx(rises[2], rel=1e-6)
        assert rises[1] == pytest.approx(4 * rises[0], rel=1e-4)
        assert rises[0] > 0


def test_the_slope_is_the_gradient_of_the_trace():
    """By autograd, which takes no derivative of an indicator either, and by differences too small
    to cross a kink.
    """
    layer, parameters, _ = layer_and_jacobian()
    W, u = (torch.tensor(part, requires_grad=True) for part in (parameters.W_V, parameters.u))
    pre = torch.tensor(layer.h) @ W.T
    (pre.relu().square().sum(1).mean() + ((pre > 0).double().mean(0) @ u.square()) / 4).backward()
    slope = layer.slope(layer.theta)
    assert slope == pytest.approx(np.concatenate([W.grad.ravel(), u.grad]))
    for place in (0, 77, len(slope) - 1):
        move = 1e-6 * np.eye(1, len(slope), place)[0]
        difference = layer.squared_gradient(layer.theta + move) - layer.squared_gradient(
            layer.theta - move
        )
        assert difference / 2e-6 == pytest.approx(slope[place], abs=1e-8)


def test_a_projected_vector_does_not_change_the_function(rng):
    layer, _, jacobian = layer_and_jacobian()
    vector = rng.standard_normal(jacobian.shape[1])
    found = layer.along_valley(layer.theta, vector)
    assert np.abs(jacobian @ found).max() < 1e-5
    assert found == pytest.approx(vector - np.linalg.pinv(jacobian) @ jacobian @ vector, abs=1e-5)
    assert np.linalg.norm(found) > 1


def test_the_way_back_is_short():
    parameters = balanced_features(4, 64)
    layer = ValueLayer(parameters, "random")
    off = layer.theta + 0.01 * np.random.default_rng(1).standard_normal(len(layer.theta))
    found = layer.back(off)
    assert np.mean(layer.residual(found) ** 2) <= 1e-20
    assert np.linalg.norm(found - off) < np.linalg.norm(layer.theta - off)
    assert layer.back(found) is found


def test_alignment_is_one_for_the_transferable_solution_and_ignores_neurons_at_rest():
    T, extra = 4, np.eye(1, 8)
    base = transferable(T)
    with_rest = uniform_attention(np.vstack([base.W_V, extra, 0 * extra]), np.r_[base.u, 0, 3])
    layer = ValueLayer(with_rest, "random")
    assert layer.alignment(layer.theta) == pytest.approx(1)
    one = ValueLayer(uniform_attention(extra, np.ones(1)), "random")
    assert one.alignment(one.theta) == pytest.approx(T**-0.5)


def test_what_cannot_reach_zero_loss_says_so():
    layer = ValueLayer(uniform_attention(np.ones((1, 8)), np.ones(1)), "random")
    with pytest.raises(
        RuntimeError,
        match=r"no point of zero loss was reached: the loss is still .*\. Take smaller steps",
    ):
        layer.back(layer.theta)


def test_attention_that_is_not_uniform_is_refused(rng):
    with pytest.raises(ValueError, match="`start` must have uniform attention: W_Q = W_K = 0"):
        ValueLayer(attentive(4, 3, rng), "random")
