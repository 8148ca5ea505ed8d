from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from ntpcompanion.generalization import gradient_step, population_step, sgd_path
from ntpcompanion.generalization.xor import (
    XorNetwork,
    all_inputs,
    draw_blocks,
    draw_network,
    estimate_accuracy,
)


def whole_network(rng, width=4, dim=5):
    """Integer weights in double precision: sums of products are exact."""
    signs = np.repeat([1.0, -1.0], width // 2)
    return XorNetwork(rng.integers(-9, 10, (width, dim)).astype(float), signs)


def expected_step_in_fractions(network, learning_rate):
    """w − η ∂/∂w E(−y f) by enumeration, from the definition of f."""
    (m, d), inputs = network.weights.shape, list(product((-1, 1), repeat=network.weights.shape[1]))
    stepped = [[Fraction(int(w)) for w in row] for row in network.weights]
    for j in range(m):
        pull = [Fraction(0)] * d
        for x in inputs:
            along = sum(int(w) * s for w, s in zip(network.weights[j], x, strict=True))
            for i in range(d):
                pull[i] += Fraction(x[0] * x[1] * int(network.signs[j]) * along * x[i], m)
        for i in range(d):
            stepped[j][i] += Fraction(learning_rate) * pull[i] / len(inputs)
    return np.array(stepped, dtype=float)


@pytest.mark.parametrize("learning_rate", [4, 2, 1])
def test_the_expected_step_is_the_mean_over_all_inputs(rng, learning_rate):
    network = whole_network(rng)
    expected = expected_step_in_fractions(network, learning_rate)
    assert (population_step(network, learning_rate).weights == expected).all()
    everything = gradient_step(network, [all_inputs(5)], learning_rate)
    assert (everything.weights == expected).all()


@pytest.mark.parametrize("loss", ["linear", "logistic"])
def test_a_step_goes_against_the_differences_of_the_loss(rng, loss):
    network = XorNetwork(rng.standard_normal((2, 3)) / 2, np.array([1.0, -1.0]))
    inputs = all_inputs(3)[:5].astype(float)

    def mean_loss(weights):
        margin = inputs[:, 0] * inputs[:, 1] * XorNetwork(weights, network.signs).outputs(inputs)
        return (-margin if loss == "linear" else np.logaddexp(0, -margin)).mean()

    step, slope = gradient_step(network, [inputs], 0.5, loss), np.zeros((2, 3))
    for at in np.ndindex(2, 3):
        ahead, behind = network.weights.copy(), network.weights.copy()
        ahead[at] += 1e-5
        behind[at] -= 1e-5
        slope[at] = (mean_loss(ahead) - mean_loss(behind)) / 2e-5
    np.testing.assert_allclose(step.weights, network.weights - 0.5 * slope, atol=1e-8)


def test_outputs_are_those_of_the_definition(rng):
    network, x = whole_network(rng), all_inputs(5)[7]
    terms = zip(network.signs, network.weights, strict=True)
    assert network.outputs(x[None])[0] == sum(a * (w @ x) ** 2 / 2 for a, w in terms) / 4


def test_blocks_are_a_batch_in_pieces(rng):
    network, inputs = whole_network(rng), all_inputs(5)
    pieces = gradient_step(network, [inputs[:3], inputs[3:]], 4)
    assert (pieces.weights == gradient_step(network, [inputs], 4).weights).all()


def test_drawn_blocks_have_as_many_uniform_signs_as_asked_for(rng):
    blocks = list(draw_blocks(rng, 30_000, 11))
    inputs = np.concatenate(blocks)
    assert inputs.shape == (30_000, 11)
    assert len(blocks) > 1
    assert set(np.unique(inputs)) == {-1, 1}
    second = inputs.T @ inputs / len(inputs) - np.eye(11)  # six standard errors
    assert np.abs(second).max() < 6 / 30_000**0.5
    assert np.abs(inputs.mean(0)).max() < 6 / 30_000**0.5


def test_all_inputs_are_different():
    assert len({tuple(row) for row in all_inputs(6)}) == 64


def test_accuracy_agrees_with_that_on_all_inputs(rng):
    network = whole_network(rng, dim=8)
    inputs = all_inputs(8)
    exact = (inputs[:, 0] * inputs[:, 1] * network.outputs(inputs) > 0).mean()
    assert abs(estimate_accuracy(network, rng, 20_000) - exact) < 0.02


def test_sgd_depends_on_its_generator_only_and_learns():
    rng = np.random.default_rng(1)
    start = draw_network(rng, width=20, dim=64)
    how = {"steps": 5, "batch_size": 1500, "learning_rate": 20}
    ends = [list(sgd_path(start, np.random.default_rng(s), **how)) for s in (2, 2, 3)]
    assert [len(path) for path in ends] == [6, 6, 6]
    assert (ends[0][-1].weights == ends[1][-1].weights).all()
    assert (ends[0][-1].weights != ends[2][-1].weights).any()
    assert estimate_accuracy(start, rng, 1000) < 0.7
    assert estimate_accuracy(ends[0][-1], rng, 1000) > 0.97


NETWORK = draw_network(np.random.default_rng(0), width=2, dim=4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: draw_network(np.random.default_rng(0), width=3, dim=4), "`width` must be even"),
        (lambda: gradient_step(NETWORK, [], 1), "`blocks` must hold at least one"),
        (lambda: gradient_step(NETWORK, [np.ones((2, 3))], 1), "`blocks` .*shape"),
        (lambda: all_inputs(21), "`dim` must lie in 2 … 20"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
