import numpy as np
import pytest
from scipy.integrate import quad

from ntpcompanion.dyck.bracket_transformer import forward, predict, squared_loss
from ntpcompanion.dyck.sentences import downstream_strings, masked_support
from ntpcompanion.dyck.stein import single_neuron_variance, stein_features


def moments(T, overlap):
    """First and second moment of 2 (b·w) σ(w·z) with b·z = overlap, by quadrature over g = w·z: b·w
    is overlap/T · g plus an independent part.
    """
    share, rest = overlap / T, T - overlap**2 / T

    def mean(g):
        density = np.exp(-(g**2) / (2 * T)) / np.sqrt(2 * np.pi * T)
        return 2 * share * g * g * density

    def square(g):
        density = np.exp(-(g**2) / (2 * T)) / np.sqrt(2 * np.pi * T)
        return 4 * (share**2 * g**2 + rest) * g**2 * density

    return [quad(part, 0, 20 * T**0.5, epsabs=1e-12, limit=200)[0] for part in (mean, square)]


@pytest.mark.parametrize("T", [4, 6, 8])
@pytest.mark.parametrize("sign", [1, -1])
def test_mean_and_variance_by_quadrature(T, sign):
    mean, square = moments(T, sign)
    assert mean == pytest.approx(sign, abs=1e-9)
    assert square - mean**2 == pytest.approx(single_neuron_variance(T), rel=1e-9)


def test_on_strings_the_mean_is_the_count_as_well():
    """Whatever f* is: Stein's identity knows nothing of the mask."""
    mean, square = moments(6, 4)
    assert (mean, square) == pytest.approx((4, 2 * (36 + 2 * 16)), rel=1e-9)


@pytest.mark.parametrize("T", [4, 6])
def test_values_are_the_average_of_the_docstring(T):
    found = stein_features(T, 50, np.random.default_rng(0))
    inputs = masked_support(T, "random")[0]
    z, W = inputs.sum(1), found.W_V
    expected = 2 / 50 * np.maximum(z @ W.T, 0) @ W[:, :T].sum(1)
    assert predict(found, inputs) == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert forward(found, inputs).weights == pytest.approx(1 / T, rel=1e-12)


def test_loss_and_norm_of_many_draws():
    T, width, rng = 4, 200, np.random.default_rng(0)
    support = masked_support(T, "random")
    losses, norms = [], []
    for _ in range(400):
        found = stein_features(T, width, rng)
        losses.append(squared_loss(found, *support) * width / single_neuron_variance(T))
        norms.append(((found.u / T) ** 2).sum() * width / (4 * T))
    for values in (losses, norms):
        assert abs(np.mean(values) - 1) < 4 * np.std(values) / 20
    assert np.std(losses) / 20 < 0.05


def test_its_own_head_counts_on_strings():
    """Without a fit: the error is (2T² + 3 f*²)/m on average, a few hundredths of the variance."""
    found = stein_features(6, 4000, np.random.default_rng(0))
    inputs, targets = downstream_strings(6)
    error = np.mean((predict(found, inputs) - targets) ** 2)
    assert 0.1 < error * 4000 / (2 * 36 + 3 * 6) < 5
