import numpy as np
import pytest
import scipy

from ntpcompanion.dyck.balance import balance_globally, balance_neurons, wide_limits
from ntpcompanion.dyck.bound import lower_bound, squared_gradient_norm
from ntpcompanion.dyck.bracket_transformer import predict, uniform_attention
from ntpcompanion.dyck.sentences import masked_support
from ntpcompanion.dyck.solutions import random_features, transferable
from tests.dyck.cases import residuals


def test_balancing_keeps_the_function_and_lowers_the_trace(rng):
    inputs, raw = masked_support(4, "random")[0], random_features(4, 64, rng)
    together, apart = balance_globally(raw, inputs), balance_neurons(raw, inputs)
    traces = [squared_gradient_norm(parameters, inputs) for parameters in (raw, together, apart)]
    assert traces[0] > traces[1] > traces[2] > lower_bound(4)
    for found in (together, apart):
        assert predict(found, inputs) == pytest.approx(predict(raw, inputs), abs=1e-10)
        assert squared_gradient_norm(balance_neurons(found, inputs), inputs) == pytest.approx(
            traces[2]
        )
    for factor in (0.9, 1.1):
        other = uniform_attention(factor * together.W_V, together.u / factor)
        assert squared_gradient_norm(other, inputs) > traces[1]


def test_balancing_leaves_neurons_at_rest_alone():
    inputs = masked_support(4, "fixed")[0]
    W_V = np.vstack([transferable(4, balanced=False).W_V, [0] * 4 + [-1] * 4, [1] * 8])
    found = balance_neurons(uniform_attention(W_V, np.array([4.0, -4, 7, 0])), inputs)
    assert found.W_V[:2] == pytest.approx(transferable(4).W_V)
    assert (found.W_V[2:] == W_V[2:]).all()
    assert found.u[2:].tolist() == [7, 0]
    assert residuals(found, inputs).cancellation < 1e-14


@pytest.mark.parametrize("T", [4, 6])
def test_wide_random_features_tend_to_their_limits(T, rng):
    inputs, width, limits = masked_support(T, "random")[0], 6000, wide_limits(T)
    raw = random_features(T, width, rng)
    assert squared_gradient_norm(raw, inputs) / width == pytest.approx(limits.raw, rel=0.05)
    assert squared_gradient_norm(balance_globally(raw, inputs), inputs) == pytest.approx(
        limits.global_balanced, rel=0.03
    )
    assert squared_gradient_norm(balance_neurons(raw, inputs), inputs) == pytest.approx(
        limits.neuron_balanced, rel=0.03
    )
    assert np.corrcoef(raw.u, raw.W_V[:, :T].sum(1))[0, 1] > 0.98
    assert np.linalg.norm(raw.u) * width**0.5 == pytest.approx(2 * T**1.5, rel=0.03)


@pytest.mark.parametrize("T", [2, 4, 8, 20])
def test_the_third_limit_is_an_expectation_over_gaussian_neurons(T, rng):
    """2 E[‖g‖ √(wᵀ E[zzᵀ] w)] by a million draws, E[zzᵀ] checked on the support; T √(2/π) times the
    bound for large T.
    """
    w = rng.standard_normal((10**6 // T, 2 * T))
    moment = np.eye(2 * T) / T
    moment[:T, :T] = np.eye(T) * ((T - 1) / T + (T - 2) / (T * (T - 1))) - (T - 2) / (T * (T - 1))
    if T <= 8:
        z = masked_support(T, "random")[0].sum(1)
        assert moment == pytest.approx(z.T @ z / len(z), abs=1e-15)
    samples = 2 * np.abs(w[:, :T].sum(1)) / T**0.5 * np.sqrt(np.einsum("nd,nd->n", w @ moment, w))
    found = wide_limits(T)
    assert abs(found.neuron_balanced - samples.mean()) < 4 * samples.std() / len(samples) ** 0.5
    assert found.global_balanced == pytest.approx(T * lower_bound(T))
    assert wide_limits(2000).neuron_balanced / lower_bound(2000) == pytest.approx(
        2000 * (2 / np.pi) ** 0.5, rel=1e-3
    )


@pytest.mark.parametrize("T", [10**6, 10**8])
def test_the_limits_of_long_sentences_are_integrated_without_cancellation(T):
    assert wide_limits(T).neuron_balanced == pytest.approx(2 * (2 * T / np.pi) ** 0.5, rel=3e-7)
    assert wide_limits(100 * T).neuron_balanced == pytest.approx(
        2 * (200 * T / np.pi) ** 0.5, rel=1e-8
    )


def test_an_uncertain_integral_is_not_given(monkeypatch):
    monkeypatch.setattr(scipy.integrate, "quad", lambda *_: (1.0, 0.1))
    with pytest.raises(RuntimeError, match=r"^`T` = 6: the integral 1 is uncertain by 0\.1\."):
        wide_limits(6)
