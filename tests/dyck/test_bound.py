import dataclasses
import itertools

import numpy as np
import pytest
import torch

from ntpcompanion.dyck.bound import chain, losses_of_moves, lower_bound, squared_gradient_norm
from ntpcompanion.dyck.bracket_transformer import Parameters, gradients, squared_loss
from ntpcompanion.dyck.network import Network
from ntpcompanion.dyck.sentences import masked_support
from ntpcompanion.dyck.solutions import random_features, transferable
from ntpcompanion.flatness.hessian import FlatModule, full_hessian
from tests.dyck.cases import SIGNS, attentive, attentive_solution, residuals


def hessian_trace(parameters, T, mask_sign):
    """Of E(f − f*)² in all parameters, by autograd."""
    inputs, targets = (torch.tensor(part).double() for part in masked_support(T, mask_sign))
    flat = FlatModule(Network(parameters))
    return float(
        full_hessian(
            lambda theta: ((flat(theta, inputs) - targets) ** 2).mean(), flat.theta
        ).trace()
    )


@pytest.mark.parametrize("T", [4, 6])
def test_the_full_hessian_of_the_flattest_solution_is_twice_the_bound(T):
    """W_Q and W_K are among the parameters; the paper drops the 2 of the squared loss that is not
    halved.
    """
    assert hessian_trace(transferable(T), T, "random") == pytest.approx(
        2 * lower_bound(T), rel=1e-12
    )
    assert 2 * lower_bound(T) == pytest.approx({4: 2.0, 6: 1.632993}[T], abs=1e-6)


@pytest.mark.parametrize(
    ("T", "width", "mask_sign"),
    [
        *((4, 64, sign) for sign in SIGNS),
        (6, 140, "fixed"),
        pytest.param(6, 140, "random", marks=pytest.mark.slow),  # all entries of 2,108 × 2,108
    ],
)
def test_lemma_d4_at_zero_loss_with_attention(T, width, mask_sign, rng):
    parameters = attentive_solution(T, width, rng, mask_sign)
    inputs = masked_support(T, mask_sign)[0]
    assert hessian_trace(parameters, T, mask_sign) == pytest.approx(
        2 * squared_gradient_norm(parameters, inputs), rel=1e-6
    )
    assert gradients(parameters, inputs).squared_norms()[:, :2].mean() > 0.01


def test_lemma_d4_needs_zero_loss(rng):
    parameters = attentive(4, 3, rng)
    inputs = masked_support(4, "random")[0]
    assert (
        abs(
            hessian_trace(parameters, 4, "random") / (2 * squared_gradient_norm(parameters, inputs))
            - 1
        )
        > 1e-3
    )


def test_the_bound_is_never_violated_by_random_solutions(rng):
    """Both mask signs, uniform and other attention, from barely wide enough to wide; every
    inequality of the chain.
    """
    least = np.inf
    for i in range(300):
        mask_sign = SIGNS[i % 2]
        inputs, targets = masked_support(4, mask_sign)
        found = attentive_solution(
            4, int(rng.integers(36, 100)), rng, mask_sign, scale=rng.choice([0, 0.1, 0.5])
        )
        assert squared_loss(found, inputs, targets) < 1e-12
        terms = dataclasses.astuple(chain(found, inputs))
        assert all(left >= right * (1 - 1e-5) for left, right in itertools.pairwise(terms))
        least = min(least, terms[0])
    assert lower_bound(4) < least < 10 * lower_bound(4)


@pytest.mark.parametrize("T", [4, 6, 8])
def test_equality_holds_term_by_term_and_the_conditions_with_it(T):
    inputs = masked_support(T, "random")[0]
    assert dataclasses.astuple(chain(transferable(T), inputs)) == pytest.approx(
        [lower_bound(T)] * 6, rel=1e-13
    )
    assert max(vars(residuals(transferable(T), inputs)).values()) < 1e-14


def test_the_chain_at_any_parameters_by_loops(rng):
    """The terms from the definition, without zero loss; the last may then be above the one
    before.
    """
    parameters, inputs = attentive(4, 3, rng), masked_support(4, "random")[0]
    found, terms = chain(parameters, inputs), np.zeros(4)
    for x in inputs:
        scores = [(parameters.W_K @ row) @ (parameters.W_Q @ x[0]) for row in x]
        h = np.exp(scores) / np.exp(scores).sum() @ x
        on = [max(0.0, w @ h) for w in parameters.W_V]
        length = (h @ h) ** 0.5
        terms += [
            sum(s**2 + u**2 * (s > 0) * length**2 for s, u in zip(on, parameters.u, strict=True)),
            2 * length * sum(abs(u) * s for s, u in zip(on, parameters.u, strict=True)),
            2 * length * abs(parameters.u @ on),
            2 * length,
        ]
    expected = terms / len(inputs)
    assert [
        found.value_layer,
        found.per_neuron,
        found.no_cancellation,
        found.spread,
    ] == pytest.approx(list(expected))
    assert found.squared_gradient > found.value_layer > found.per_neuron > found.no_cancellation
    assert found.spread > found.bound == 1


def test_each_condition_is_broken_by_a_solution_of_its_own(rng):
    T, inputs = 6, masked_support(6, "random")[0]
    unbalanced = residuals(transferable(T, balanced=False), inputs)
    assert unbalanced.single_value > 1
    assert unbalanced.cancellation < 1e-14
    assert residuals(random_features(T, 200, rng), inputs).cancellation > 1
    one_sided = Parameters(
        0 * np.eye(12), rng.normal(0, 0.3, (12, 12)), transferable(T).W_V, transferable(T).u
    )
    found = residuals(one_sided, inputs)
    assert max(found.single_value, found.cancellation, found.uniformity) < 1e-14
    assert found.query_key_gradient > 1
    assert squared_gradient_norm(one_sided, inputs) > 2 * lower_bound(T)
    assert residuals(attentive(T, 3, rng), inputs).uniformity > 0.1


def test_losses_after_moves_grow_with_the_trace():
    moves = np.array([-0.02, -0.01, 0, 0.01, 0.02]) / 10
    losses = losses_of_moves(transferable(4), masked_support(4, "random"), moves)
    trace = hessian_trace(transferable(4), 4, "random")
    assert losses == pytest.approx(trace * moves**2 / 2, rel=0.01, abs=1e-12)
