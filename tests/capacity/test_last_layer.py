import cvxpy as cp
import numpy as np
import pytest

from ntpcompanion.capacity import fit_last_layer, least_last_width


def table(N, m, V, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, m)), rng.dirichlet(np.ones(V), size=N), rng.dirichlet([5.0] * N)


def test_the_minimum_is_that_of_a_general_solver():
    H, p, pi = table(7, 3, 4)
    U = cp.Variable((3, 4))
    logits = H @ U
    terms = [pi[j] * (cp.log_sum_exp(logits[j]) - p[j] @ logits[j]) for j in range(7)]
    wanted = cp.Problem(cp.Minimize(sum(terms))).solve(solver=cp.CLARABEL)
    fit = fit_last_layer(H, p, pi)
    assert fit.loss == pytest.approx(wanted, abs=1e-7)
    assert fit.loss - fit.bound < 1e-10


def test_the_bound_is_below_every_decoder():
    H, p, pi = table(7, 3, 4)
    fit = fit_last_layer(H, p, pi)
    rng = np.random.default_rng(1)
    for size in (0.1, 1.0, 3.0):
        logits = H @ (size * rng.standard_normal((3, 4)))
        logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        assert -(pi[:, None] * p * logs).sum() >= fit.bound


def test_as_many_features_as_contexts_reach_the_entropy_and_one_less_does_not():
    H, p, pi = table(6, 6, 4)
    all_of_them, less = fit_last_layer(H, p, pi), fit_last_layer(H[:, :5], p, pi)
    assert all_of_them.loss == pytest.approx(all_of_them.entropy, abs=1e-10)
    assert less.bound > less.entropy + 1e-6
    wanted = -(pi[:, None] * p * np.log(p)).sum()
    assert all_of_them.entropy == pytest.approx(wanted, abs=1e-14)
    assert least_last_width(H, p, pi, 1e-7) == 6


def test_one_word_targets_need_few_features():
    """Points of a plane on a circle: two features separate any of them from all others."""
    angles = 2 * np.pi * np.arange(8) / 8
    H = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    fit = fit_last_layer(H, np.eye(8), np.full(8, 1 / 8), enough=0.01)
    assert fit.entropy == 0
    assert 0 < fit.loss <= 0.01


@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named():
    H, p, pi = table(6, 3, 4)
    with pytest.raises(ValueError, match=r"`next_token` must be a matrix .* shape .6, V."):
        fit_last_layer(H, p[:5], pi)
    with pytest.raises(ValueError, match=r"`next_token` row 0 sums to 2"):
        fit_last_layer(H, 2 * p, pi)
    with pytest.raises(ValueError, match=r"`weight` must be positive and finite, got 0"):
        fit_last_layer(H, p, np.eye(6)[0])
    with pytest.raises(ValueError, match=r"`features`: not even all 3 come within 1e-06"):
        least_last_width(H, p, pi, 1e-6)
