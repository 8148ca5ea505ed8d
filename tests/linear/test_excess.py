import math

import numpy as np
import pytest

from ntpcompanion.linear.contexts import ContextTable
from ntpcompanion.linear.excess import excess_bound
from ntpcompanion.linear.separability import check_compatibility, check_separability


def test_the_bound_is_the_sum_of_the_formula(rng):
    table = ContextTable.random(5, 4, 2, 3, rng)
    W, law = rng.standard_normal((4, 3)), table.laws.toarray()
    expected = 0.0
    for j, h in enumerate(table.embeddings):
        inside, outside = np.flatnonzero(law[j]), np.flatnonzero(law[j] == 0)
        expected += table.weight[j] * sum(
            law[j, z] ** 2 * math.exp((W[v] - W[z]) @ h) for z in inside for v in outside
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
    with pytest.raises(
        ValueError, match=r"`finite_part` must be a matrix of shape \(4, 2\), got shape \(2, 4\)"
    ):
        excess_bound(table, np.zeros((2, 4)), 1)
