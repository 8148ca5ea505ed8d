from fractions import Fraction

import numpy as np
import pytest

from ntpcompanion.dyck.bound import chain, lower_bound
from ntpcompanion.dyck.bracket_counting import (
    best_head_error,
    downstream_features,
    minimum_norm_head,
    population_error,
)
from ntpcompanion.dyck.bracket_transformer import forward, squared_loss
from ntpcompanion.dyck.exact_arithmetic import exact_chain
from ntpcompanion.dyck.sentences import masked_support
from ntpcompanion.dyck.single_condition import first_position_attention, mask_as_bias, two_values
from ntpcompanion.dyck.solutions import transferable
from tests.dyck.cases import residuals

LENGTHS = [4, 6, 8]
HALF = Fraction(1, 2)


def rows(T):
    inputs, targets = masked_support(T, "random")
    return inputs.sum(1), targets


def violated(parameters, T):
    """Which conditions fail, (3), (4), (5) and that on the gradient in W_Q and W_K."""
    found = residuals(parameters, masked_support(T, "random")[0])
    return [value > 1e-9 for value in vars(found).values()]


@pytest.mark.parametrize("T", LENGTHS)
def test_each_solution_has_zero_loss_and_violates_its_condition_only(T):
    z, targets = rows(T)
    for neurons, expected in (
        (two_values(T, HALF), [True, False, False, False]),
        (mask_as_bias(T), [False, True, False, False]),
    ):
        assert neurons.error(z, targets) == 0
        assert violated(neurons.parameters(z), T) == expected
    attentive = first_position_attention(T, 0.5)
    assert squared_loss(attentive, *masked_support(T, "random")) < 1e-24
    assert violated(attentive, T) == [False, False, True, True]
    assert violated(transferable(T), T) == [False] * 4


@pytest.mark.parametrize("T", LENGTHS)
@pytest.mark.parametrize("spread", [Fraction(0), Fraction(1, 3), HALF, Fraction(9, 10)])
def test_two_values_miss_the_bound_by_the_factor_of_the_docstring(T, spread):
    z, targets = rows(T)
    found, a = exact_chain(two_values(T, spread), z, targets), float(spread)
    roots = [np.sqrt(1 + sign * 2 * a / T + a**2 * (T - 1) / T) for sign in (1, -1)]
    assert float(found.trace) == pytest.approx((1 + sum(roots) / 2) / 2, rel=1e-12)
    assert (found.per_neuron, found.no_cancellation) == (1, 1)
    assert (best_head_error(two_values(T, spread)) > 0) == (spread > 0)


@pytest.mark.parametrize("T", [*LENGTHS, 10])
def test_the_mask_as_a_bias_costs_a_factor_of_two_and_does_not_transfer(T):
    z, targets = rows(T)
    found = exact_chain(mask_as_bias(T), z, targets)
    assert (found.loss, found.trace, found.per_neuron, found.no_cancellation) == (0, 2, 2, 1)
    assert best_head_error(mask_as_bias(T)) == HALF


@pytest.mark.parametrize("T", LENGTHS)
@pytest.mark.parametrize("weight", [0.1, 0.5, 0.9])
def test_attention_to_the_first_position(T, weight):
    inputs = masked_support(T, "random")[0]
    parameters = first_position_attention(T, weight)
    weights = forward(parameters, inputs).weights
    assert weights[:, 0] == pytest.approx(weight, rel=1e-12)
    assert weights[:, 1:] == pytest.approx((1 - weight) / (T - 1), rel=1e-12)
    terms = chain(parameters, inputs)
    factor = np.sqrt(T * (weight**2 + (1 - weight) ** 2 / (T - 1)))
    assert terms.spread / lower_bound(T) == pytest.approx(factor, rel=1e-12)
    assert terms.value_layer == pytest.approx(terms.spread, rel=1e-12)
    assert terms.squared_gradient > terms.value_layer * 1.01


def test_attention_to_the_first_position_transfers():
    features, targets = downstream_features(first_position_attention(6, 0.5))
    seen = [np.argmax(targets), np.argmin(targets)]
    head = minimum_norm_head(features[seen], targets[seen])
    assert population_error(features, targets, head) < 1e-20
