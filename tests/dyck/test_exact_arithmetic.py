import numpy as np
import pytest
import sympy

from ntpcompanion.dyck.bound import chain, lower_bound, squared_gradient_norm
from ntpcompanion.dyck.bracket_transformer import squared_loss, uniform_attention
from ntpcompanion.dyck.exact_arithmetic import curvature, exact_chain, integer_rank, sign_rule
from ntpcompanion.dyck.neurons import Neurons
from ntpcompanion.dyck.sentences import circulant, masked_support
from ntpcompanion.dyck.solutions import (
    memoriser,
    three_neurons,
    transferable_neurons,
    with_dead_neuron,
)
from tests.dyck.test_neurons import some

LENGTHS = [4, 6, 8, 10]
ATTAINING = {
    "transferable": ("random", transferable_neurons),
    "transferable, fixed": ("fixed", transferable_neurons),
    "A": ("fixed", lambda T: with_dead_neuron(T, np.arange(1, T + 1))),
    "B": ("fixed", lambda T: three_neurons(T, "fixed")),
    "B'": ("random", lambda T: three_neurons(T, "random")),
    "C": ("fixed", memoriser),
}


def rows(T, mask_sign):
    inputs, targets = masked_support(T, mask_sign)
    return inputs.sum(1), targets


@pytest.mark.parametrize("T", LENGTHS)
@pytest.mark.parametrize("name", [name for name in ATTAINING if name != "C"])
def test_solutions_that_attain_the_bound_do_so_exactly(name, T):
    mask_sign, build = ATTAINING[name]
    found = exact_chain(build(T), *rows(T, mask_sign))
    assert (found.loss, found.trace, found.per_neuron, found.no_cancellation) == (0, 1, 1, 1)


@pytest.mark.parametrize("T", [4, 6, 8])
def test_a_memoriser_is_as_flat_as_the_solution_that_transfers(T):
    neurons, (z, targets) = memoriser(T), rows(T, "fixed")
    assert len(neurons.directions) == len(z)
    assert (neurons.preactivations(z) > 0).tolist() == np.eye(len(z), dtype=bool).tolist()
    found = exact_chain(neurons, z, targets)
    assert (found.loss, found.trace, found.per_neuron, found.no_cancellation) == (0, 1, 1, 1)


def test_the_chain_falls_and_is_that_of_floats():
    """On neurons that attain nothing, with roots in their trace."""
    neurons, (inputs, targets) = some(6), masked_support(6, "random")
    z = inputs.sum(1)
    exact, parameters = exact_chain(neurons, z, targets), neurons.parameters(z)
    found = chain(parameters, inputs, neurons.active(z))
    assert exact.trace > exact.per_neuron > exact.no_cancellation
    assert not exact.trace.is_rational
    assert found.value_layer == pytest.approx(float(exact.trace) * lower_bound(6), rel=1e-12)
    assert found.per_neuron == pytest.approx(float(exact.per_neuron) * lower_bound(6), rel=1e-12)
    assert found.no_cancellation == pytest.approx(
        float(exact.no_cancellation) * lower_bound(6), rel=1e-12
    )
    assert float(exact.loss) == pytest.approx(squared_loss(parameters, inputs, targets), rel=1e-12)


@pytest.mark.parametrize("name", ATTAINING)
def test_only_the_counter_example_on_kinks_has_more_curvature_than_the_formula(name):
    mask_sign, build = ATTAINING[name]
    for T in (4, 6):
        found = curvature(build(T), rows(T, mask_sign)[0])
        more = sympy.Rational(5, 4) if name == "B'" else 1
        assert (found.formula, found.forward, found.backward, found.two_sided) == (
            1,
            more,
            more,
            more,
        )


@pytest.mark.parametrize("T", [8, 10])
def test_the_two_sided_curvature_is_five_fourths_at_all_lengths(T):
    assert curvature(three_neurons(T, "random"), rows(T, "random")[0]).two_sided == sympy.Rational(
        5, 4
    )


@pytest.mark.parametrize("T", [4, 6])
def test_curvatures_are_second_differences_of_the_loss(T):
    """Of E(f − f*)², one coordinate after the other; the paper's trace, without the factor 2, is
    half of the curvature.
    """
    neurons, (inputs, targets), step = three_neurons(T, "random"), masked_support(T, "random"), 1e-4
    parameters = neurons.parameters(inputs.sum(1))
    found, theta = (
        curvature(neurons, inputs.sum(1)),
        np.concatenate([parameters.W_V.ravel(), parameters.u]),
    )
    for sign, expected in ((1, found.forward), (-1, found.backward)):
        total = 0.0
        for move in sign * step * np.eye(len(theta)):
            W_V, u = np.split(theta + move, [-3])
            total += squared_loss(uniform_attention(W_V.reshape(3, 2 * T), u), inputs, targets)
        assert total / step**2 == pytest.approx(float(expected) * lower_bound(T), rel=1e-6)


def test_indicators_come_from_integers_on_the_kinks():
    """Rounding turns some zeros into positive numbers, and each of them adds u² / T: up to a
    quarter of the bound.
    """
    rounded = []
    for T in (6, 8, 10):
        neurons, inputs = three_neurons(T, "random"), masked_support(T, "random")[0]
        z = inputs.sum(1)
        parameters = neurons.parameters(z)
        assert squared_gradient_norm(parameters, inputs, neurons.active(z)) == pytest.approx(
            lower_bound(T), rel=1e-14
        )
        rounded.append(squared_gradient_norm(parameters, inputs) / lower_bound(T))
    assert min(rounded) > 1 - 1e-14
    assert 1.02 < max(rounded) < 1.5 + 1e-14


def test_a_curvature_may_differ_from_side_to_side():
    """A neuron that is 1 where s_1 = +1 rises along coordinate 1 elsewhere only backwards: with s_1
    = −1 or hidden there.
    """
    z = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, -1, 0]])
    found = curvature(Neurons(np.array([[1, 0, 0, 0]]), np.array([1])), z)
    assert [found.forward - found.formula, found.backward - found.formula] == [
        sympy.Rational(2, 4) / 4,
        sympy.Rational(1, 4) / 4,
    ]


@pytest.mark.parametrize("T", LENGTHS)
@pytest.mark.parametrize("name", [name for name in ATTAINING if name != "C"])
def test_fact_d2(name, T):
    """Its second part, for the fixed mask sign, does not hold for counter-example A."""
    mask_sign, build = ATTAINING[name]
    found = sign_rule(build(T), *rows(T, mask_sign))
    assert found.silent_on_the_other_side
    assert found.none_dead == (name != "A")


def test_a_neuron_on_the_wrong_side_is_found():
    neurons = Neurons(
        np.array([[1, 1, 1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0]]), np.array([1, 1])
    )
    assert not sign_rule(neurons, *rows(4, "random")).silent_on_the_other_side


@pytest.mark.parametrize("T", LENGTHS)
def test_lemma_d5_and_the_span_of_the_support(T):
    """Full rank T − 1; and the support spans all coordinates, so that with −z beside z no neuron is
    dead but zero (fact D.2, part 2).
    """
    assert integer_rank(circulant(T)) == T - 1
    for mask_sign in ("random", "fixed"):
        z = rows(T, mask_sign)[0]
        assert integer_rank(z.T @ z) == 2 * T


def test_ranks_are_exact():
    """The second row differs from twice the first by one part in 10^18: below the precision of
    float64.
    """
    big = 10**18
    assert integer_rank(np.array([[big, 1], [2 * big, 2]])) == 1
    assert integer_rank(np.array([[big, 1], [2 * big + 1, 2]])) == 2
    assert np.linalg.matrix_rank(np.array([[big, 1], [2 * big + 1, 2]], dtype=float)) == 1
    assert integer_rank(np.zeros((2, 3), dtype=int)) == 0


@pytest.mark.parametrize(("T", "inputs", "strings"), [(4, 32, 12), (6, 132, 38)])
def test_random_neurons_have_the_rank_of_a_linear_and_an_even_map(T, inputs, strings):
    """N/2 + 2T on masked inputs, 2^{T−1} + T on strings, though there are more neurons and more
    rows; by integers.
    """
    rng = np.random.default_rng(0)
    signs = np.array(np.meshgrid(*[[1, -1]] * T)).reshape(T, -1).T
    for z, expected in ((rows(T, "random")[0], inputs), (np.hstack([signs, 0 * signs]), strings)):
        features = np.maximum(z @ rng.integers(-99, 100, (2 * T, expected + 3)), 0)
        assert integer_rank(features) == expected < len(z)
