from fractions import Fraction

import numpy as np
import pytest

from ntpcompanion.dyck.exact_arithmetic import curvature, exact_chain
from ntpcompanion.dyck.kinks import OneSided, one_sided_second_derivatives
from ntpcompanion.dyck.neurons import Neurons
from ntpcompanion.dyck.sentences import masked_support
from ntpcompanion.dyck.single_condition import mask_as_bias, two_values
from ntpcompanion.dyck.solutions import memoriser, three_neurons, transferable_neurons


def rows(T, mask_sign="random"):
    inputs, targets = masked_support(T, mask_sign)
    return inputs.sum(1), targets


def mask_pair(T):
    """(1; 1) and (1; −1), each on a kink for one sign of the mask: it counts, and is not flat."""
    ones = np.ones(T, dtype=np.int64)
    directions = [np.r_[ones, ones], np.r_[ones, -ones], np.r_[-ones, 0 * ones]]
    return Neurons(np.array(directions), np.array([1, 1, -2]), 2)


def mixed(T):
    """Half of B', a quarter of the pair, and the rest counts."""
    parts = [three_neurons(T, "random"), mask_pair(T), transferable_neurons(T)]
    shares = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    coefficients = [s * c for s, part in zip(shares, parts, strict=True) for c in part.coefficients]
    return Neurons(
        np.vstack([part.directions for part in parts]),
        np.array([int(8 * c) for c in coefficients]),
        8,
    )


def losses(neurons, z, targets, directions, numerators, step):
    """L at a step along the line, in floats."""
    W = neurons.directions + step * directions
    c = (neurons.numerators + step * numerators) / neurons.denominator
    return np.mean((np.maximum(z @ W.T, 0) @ c - targets) ** 2)


@pytest.mark.parametrize("T", [4, 6])
@pytest.mark.parametrize("build", [lambda T: three_neurons(T, "random"), mask_pair, mixed])
def test_one_sided_second_derivatives_are_those_of_the_loss(build, T):
    neurons, (z, targets), rng = build(T), rows(T), np.random.default_rng(T)
    assert neurons.error(z, targets) == 0
    for _ in range(5):
        directions = rng.integers(-2, 3, neurons.directions.shape)
        numerators = rng.integers(-2, 3, len(neurons.numerators))
        found = one_sided_second_derivatives(neurons, z, directions, numerators)
        for step, expected in ((1e-6, found.forward), (-1e-6, found.backward)):
            value = losses(neurons, z, targets, directions, numerators, step)
            assert 2 * value / step**2 == pytest.approx(float(expected), rel=1e-4)


@pytest.mark.parametrize("T", [4, 6, 8, 10])
def test_at_b_prime_the_two_sides_differ(T):
    neurons, (z, _) = three_neurons(T, "random"), rows(T)
    directions = np.zeros_like(neurons.directions)
    directions[0, :T] = 1
    found = one_sided_second_derivatives(neurons, z, directions, np.array([0, 2, 0]))
    # P(on): the first neuron where f* = 1, then the second, beside which the first has its kink
    first, second = Fraction(T + 1, 4 * T), Fraction(T - 1, 4 * T)
    assert found.forward == 2 * (first / 4 + second * Fraction(5, 2) ** 2)
    assert found.backward == 2 * (first / 4 + second * 4 + second / 4)


@pytest.mark.parametrize("T", [4, 6])
def test_at_every_kink_the_line_of_the_proof_shows_it(T):
    """w_j moves by the input on its kink and u_k grows, k any neuron that is active there: the
    difference of the sides is 4 c_j E 1{w_j·z = 0} σ(w_k·z) |z_0·z|, for a step of 1 in c_k.
    """
    for neurons in (three_neurons(T, "random"), mask_pair(T), mixed(T)):
        z, _ = rows(T)
        values = neurons.preactivations(z)
        for j in np.flatnonzero((values == 0).any(0)):
            at = np.flatnonzero(values[:, j] == 0)[0]
            k = np.flatnonzero(values[at] > 0)[0]
            directions = np.zeros_like(neurons.directions)
            directions[j] = z[at]
            numerators = np.eye(1, len(neurons.numerators), k, dtype=int)[0]
            found = one_sided_second_derivatives(neurons, z, directions, numerators)
            on_kink = (values[:, j] == 0) * np.maximum(values[:, k], 0) * np.abs(z @ z[at])
            expected = Fraction(4 * int(on_kink.sum()), len(z) * neurons.denominator)
            assert found.forward - found.backward == expected * neurons.coefficients[j] != 0


@pytest.mark.parametrize(
    ("build", "mask_sign"),
    [
        (transferable_neurons, "random"),
        (lambda T: two_values(T, Fraction(1, 2)), "random"),
        (mask_as_bias, "random"),
        (lambda T: three_neurons(T, "fixed"), "fixed"),
        (memoriser, "fixed"),
    ],
)
def test_without_kinks_both_sides_agree(build, mask_sign):
    neurons, (z, _), rng = build(4), rows(4, mask_sign), np.random.default_rng(0)
    for _ in range(5):
        directions = rng.integers(-2, 3, neurons.directions.shape)
        numerators = rng.integers(-2, 3, len(neurons.numerators))
        found = one_sided_second_derivatives(neurons, z, directions, numerators)
        assert found.forward == found.backward > 0


@pytest.mark.parametrize("T", [4, 6, 8])
@pytest.mark.parametrize("build", [lambda T: three_neurons(T, "random"), mask_pair, mixed])
def test_two_sided_curvature_exceeds_the_bound_by_the_term_of_the_kinks(build, T):
    """½ Σ u_j² E 1{w_j·h = 0} ‖h‖², where ‖h‖² = 1/T and the bound is 2/√T."""
    neurons, (z, targets) = build(T), rows(T)
    chained, bends = exact_chain(neurons, z, targets), curvature(neurons, z)
    assert (chained.loss, chained.trace) == (0, 1)
    kinks = (neurons.preactivations(z) == 0).mean(0)
    excess = neurons.parameters(z).u ** 2 @ kinks / (2 * T) / (2 / T**0.5)
    assert float(bends.two_sided) == pytest.approx(1 + excess, rel=1e-12)
    assert bends.two_sided > 1


def test_a_single_neuron_by_hand():
    """v·z is 1, 0, 0 and −1 on four inputs; moving v by itself scales the first, moving it along
    coordinate 2 wakes one of the two kinks on each side.
    """
    z = np.array([[1, 0], [0, 1], [0, -1], [-1, 0]])
    neuron = Neurons(np.array([[1, 0]]), np.array([3]))
    one, none = np.array([[0, 2]]), np.array([0])
    expected = Fraction(2 * 36, 4)
    assert one_sided_second_derivatives(neuron, z, one, none) == OneSided(expected, expected)
    assert one_sided_second_derivatives(neuron, z, neuron.directions, none) == OneSided(
        Fraction(2 * 9, 4), Fraction(2 * 9, 4)
    )
