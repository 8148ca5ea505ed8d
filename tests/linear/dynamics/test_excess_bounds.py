import math

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize

from ntpcompanion.linear.dynamics.excess_bounds import (
    excess_bound,
    excess_lower_bound,
    penalized_minima,
)
from ntpcompanion.linear.separability.decision import check_compatibility, check_separability
from ntpcompanion.linear.tables.contexts import ContextTable


def test_the_bound_is_the_sum_of_the_formula(rng):
    table = ContextTable.random(5, 4, 2, 3, rng)
    W, distribution = rng.standard_normal((4, 3)), table.distributions.toarray()
    expected = 0.0
    for j, h in enumerate(table.embeddings):
        inside, outside = np.flatnonzero(distribution[j]), np.flatnonzero(distribution[j] == 0)
        expected += table.weight[j] * sum(
            distribution[j, z] ** 2 * math.exp((W[v] - W[z]) @ h) for z in inside for v in outside
        )
    assert excess_bound(table, W, 0) == pytest.approx(expected, rel=1e-12)
    assert excess_bound(table, W, 3) == pytest.approx(expected * math.exp(-3), rel=1e-12)


def test_the_loss_above_the_floor_stays_below_the_bound_and_becomes_it(rng):
    table = ContextTable.random(12, 6, 3, 14, rng)
    finite, direction = check_compatibility(table).finite_part, check_separability(table).weights
    gammas = [0.0, 1.0, 5.0, 20.0, 50.0]
    excess = [table.excess(finite + gamma * direction) for gamma in gammas]
    bounds = [excess_bound(table, finite, gamma) for gamma in gammas]
    assert all(0 < e <= b * (1 + 1e-9) for e, b in zip(excess, bounds, strict=True))
    assert excess == sorted(excess, reverse=True)
    assert excess[-1] < 1e-16 * table.entropy


def test_full_supports_add_nothing():
    table = ContextTable(np.eye(2), np.array([[0.5, 0.5], [1.0, 0.0]]), np.full(2, 0.5))
    assert excess_bound(table, np.zeros((2, 2)), 0) == pytest.approx(0.5)


def test_errors_say_what_to_do(rng):
    table = ContextTable.random(3, 4, 2, 2, rng)
    with pytest.raises(ValueError, match=r"`gamma` must be at least 0, got -1"):
        excess_bound(table, np.zeros((4, 2)), -1)


def refuted_tables(rng, number):
    """Small tables with a certificate that they are not separable or not compatible, and it."""
    while number:
        m, V = int(rng.integers(2, 7)), int(rng.integers(2, 5))
        S, d = int(rng.integers(1, V)), int(rng.integers(1, m + 1))
        table = ContextTable.random(m, V, S, d, rng)
        for found in (check_separability(table), check_compatibility(table)):
            if number and found.certificate is not None:
                number -= 1
                yield table, found.certificate


def smallest_excess(table):
    """By maximum entropy over distributions with the same moments, the dual of the loss."""
    q = cp.Variable(table.next_token.shape, nonneg=True)
    weighted = cp.multiply(table.weight[:, None], q - table.next_token)
    moments = [table.embeddings.T @ weighted == 0, cp.sum(q, axis=1) == 1]
    entropy = cp.Maximize(table.weight @ cp.sum(cp.entr(q), axis=1))
    return cp.Problem(entropy, moments).solve(solver=cp.CLARABEL) - table.entropy


def test_no_decoder_comes_closer_to_the_floor_than_the_lower_bound(rng):
    for table, certificate in refuted_tables(rng, 12):
        bound, shape = excess_lower_bound(table, certificate), (table.vocab_size, table.dim)
        descent = minimize(
            lambda w, table=table, shape=shape: table.excess(w.reshape(shape)),
            np.zeros(np.prod(shape)),
            jac=lambda w, table=table, shape=shape: table.gradient(w.reshape(shape)).ravel(),
        )
        smallest = smallest_excess(table)
        assert 0 < bound <= smallest + 1e-6
        assert smallest - 1e-6 <= descent.fun


def test_the_lower_bound_by_hand():
    """Three contexts, two tokens that move: the mean entropy of (1/2 − x, 1/2 + x) and twice (x, 1
    − x) is largest where ((1 − x) / x)² = (1/2 + x) / (1/2 − x).
    """
    embeddings = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    distributions = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    table = ContextTable(embeddings, distributions, np.full(3, 1 / 3))
    gamma = np.array([[1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]])
    x = np.linspace(1e-6, 0.5 - 1e-6, 200_001)

    def binary(y):
        return -y * np.log(y) - (1 - y) * np.log(1 - y)

    expected = ((binary(0.5 - x) + 2 * binary(x)) / 3).max() - math.log(2) / 3
    assert excess_lower_bound(table, gamma) == pytest.approx(expected, abs=1e-8)
    assert excess_lower_bound(table, 100 * gamma) == pytest.approx(expected, abs=1e-8)


def test_what_is_no_certificate_bounds_nothing_or_is_refused():
    table = ContextTable(np.eye(2), np.array([[0.5, 0.5], [1.0, 0.0]]), np.full(2, 0.5))
    assert excess_lower_bound(table, np.zeros((2, 2))) == 0
    with pytest.raises(ValueError, match=r"must not be positive off support, .* is 1"):
        excess_lower_bound(table, np.array([[0.0, 0.0], [-1.0, 1.0]]))


def test_penalized_minima_have_no_slope_and_grow_as_the_penalty_falls(rng):
    table, penalties = ContextTable.random(4, 3, 2, 3, rng), [1.0, 0.1, 0.01]
    minima = penalized_minima(table, penalties)
    for W, c in zip(minima, penalties, strict=True):
        moves = np.concatenate([np.eye(9), -np.eye(9)]).reshape(-1, 3, 3) * 1e-3
        values = [table.cross_entropy(W + move) + c * ((W + move) ** 2).sum() for move in moves]
        assert min(values) > table.cross_entropy(W) + c * (W**2).sum()
    norms = np.linalg.norm(minima, axis=(1, 2))
    assert norms[0] < norms[1] < norms[2]
