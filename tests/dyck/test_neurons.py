from fractions import Fraction

import numpy as np
import pytest

from ntpcompanion.dyck import neurons as module
from ntpcompanion.dyck.bound import squared_gradient_norm
from ntpcompanion.dyck.bracket_transformer import predict, uniform_attention
from ntpcompanion.dyck.neurons import Neurons
from ntpcompanion.dyck.sentences import masked_support


def some(T, width=5, seed=0):
    rng = np.random.default_rng(seed)
    return Neurons(
        rng.integers(-3, 4, (width, 2 * T)),
        rng.integers(1, 5, width) * rng.choice([-1, 1], width),
        3,
    )


def dot(v, z):
    return sum(int(a) * int(b) for a, b in zip(v, z, strict=True))


def test_statistics_and_values_are_sums_of_fractions():
    neurons, (inputs, targets) = some(4), masked_support(4, "random")
    z = inputs.sum(1)
    for v, found in zip(neurons.directions, neurons.statistics(z), strict=True):
        values = [dot(v, row) for row in z]
        on = [max(0, value) for value in values]
        expected = [
            sum(value > 0 for value in values),
            sum(on),
            sum(value**2 for value in on),
            sum(value == 0 for value in values),
        ]
        assert [found.on, found.mean, found.square, found.at_kink] == [
            Fraction(count, 48) for count in expected
        ]
        assert found.at_kink > 0
    f = [
        sum(
            c * max(0, dot(v, row))
            for v, c in zip(neurons.directions, neurons.coefficients, strict=True)
        )
        for row in z
    ]
    assert [Fraction(int(value), 3) for value in neurons.scaled_values(z)] == f
    assert (
        neurons.error(z, targets)
        == sum((a - int(b)) ** 2 for a, b in zip(f, targets, strict=True)) / 48
    )
    assert neurons.coefficients[0].denominator in (1, 3)


def test_zeros_are_zeros_where_floats_say_otherwise():
    """(3, 3, 3)/√T · (1, 1, −2) scaled by an irrational number need not be zero in float64; as
    integers it is.
    """
    neurons, z = (
        Neurons(np.array([[1, 1, 1, 1, 0, 0, 0, 0]]), np.array([1])),
        masked_support(4, "random")[0].sum(1),
    )
    assert (neurons.active(z)[:, 0] == (z[:, :4].sum(1) == 1)).all()


def test_parts_of_the_neurons_give_the_same(monkeypatch):
    neurons, (inputs, targets) = some(4, 7), masked_support(4, "fixed")
    z = inputs.sum(1)
    expected = neurons.statistics(z), neurons.scaled_values(z).tolist(), neurons.error(z, targets)
    monkeypatch.setattr(module, "BLOCK", 50)
    assert [len(part.numerators) for part in neurons.blocks(len(z))] == [2, 2, 2, 1]
    assert (
        neurons.statistics(z),
        neurons.scaled_values(z).tolist(),
        neurons.error(z, targets),
    ) == expected


def test_parameters_have_the_function_and_no_other_split_has_a_smaller_trace():
    neurons, inputs = some(6), masked_support(6, "random")[0]
    z = inputs.sum(1)
    parameters, active = neurons.parameters(z), neurons.active(z)
    assert 3 * predict(parameters, inputs) == pytest.approx(neurons.scaled_values(z), abs=1e-12)
    least = squared_gradient_norm(parameters, inputs, active)
    for j, factor in [(0, 1.1), (1, 0.9), (4, 2.0)]:
        scale = np.ones(5)
        scale[j] = factor
        other = uniform_attention(parameters.W_V * scale[:, None], parameters.u / scale)
        assert predict(other, inputs) == pytest.approx(predict(parameters, inputs))
        assert squared_gradient_norm(other, inputs, active) > least + 1e-4


def test_neurons_that_never_wake_keep_a_finite_scale():
    neurons = Neurons(np.array([[1] * 4 + [0] * 4, [0] * 4 + [-1] * 4]), np.array([1, 0]))
    parameters = neurons.parameters(masked_support(4, "fixed")[0].sum(1))
    assert parameters.u.tolist() == pytest.approx([4**0.25, 0])
    assert np.abs(parameters.W_V).max(1).tolist() == pytest.approx([4**0.75] * 2)
