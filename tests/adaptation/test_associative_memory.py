"""Memories, against enumeration of all assignments, exact ranks and a general solver."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from ntpcompanion.adaptation.associative_memory import (
    stored_fractions,
    stored_probability,
    widest_memory,
)


def recalled(memory, keys):
    products = np.asarray(keys) @ memory.T
    return products.argmax(1), np.diff(np.sort(products, axis=1)[:, -2:], axis=1)[:, 0]


@pytest.mark.parametrize("num_values", [2, 3])
def test_all_assignments_are_stored_if_and_only_if_keys_are_independent(rng, num_values):
    for n, d in ((3, 3), (4, 3)):
        keys = rng.standard_normal((n, d))
        stored = [
            widest_memory(keys, list(values), num_values)[1] > 0
            for values in product(range(num_values), repeat=n)
        ]
        assert all(stored) == (np.linalg.matrix_rank(keys) == n)
        assert any(stored)  # all keys have one value


def test_what_cannot_be_stored_has_a_combination_of_keys_that_proves_it(rng):
    """For two values: keys with signs ± cannot be stored iff weights λ ≥ 0, not all 0, combine
    them to 0 (Gordan), which another linear program decides.
    """
    seen = set()
    for _ in range(40):
        keys, values = rng.standard_normal((6, 3)), rng.integers(2, size=6)
        signed = keys * (2 * values - 1)[:, None]
        system, right = np.vstack([signed.T, np.ones(6)]), [0, 0, 0, 1]
        impossible = linprog(np.zeros(6), A_eq=system, b_eq=right).success
        assert (widest_memory(keys, values, 2)[1] == 0) == impossible
        seen.add(impossible)
    assert seen == {True, False}


def test_the_margin_is_attained_and_a_random_matrix_has_no_larger_one(rng):
    keys, values = rng.standard_normal((5, 4)), np.array([0, 1, 2, 2, 1])
    memory, margin = widest_memory(keys, values, 3)
    answers, gaps = recalled(memory, keys)
    assert answers.tolist() == values.tolist()
    assert gaps.min() == pytest.approx(margin)
    assert np.abs(memory).max() <= 1 + 1e-9
    for _ in range(300):
        other = np.clip(memory + rng.normal(0, 0.2, memory.shape), -1, 1)
        answers, gaps = recalled(other, keys)
        assert (answers != values).any() or gaps.min() <= margin + 1e-9


def test_rank_two_stores_any_values_of_independent_keys(rng):
    keys = rng.standard_normal((20, 25))
    for num_values in (2, 3, 20):
        values = rng.integers(num_values, size=20)
        angles = 2 * np.pi * np.arange(num_values) / num_values
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        memory = circle @ (np.linalg.pinv(keys) @ circle[values]).T
        answers, gaps = recalled(memory, keys)
        assert answers.tolist() == values.tolist()
        assert np.linalg.matrix_rank(memory) <= 2
        assert gaps == pytest.approx(np.full(20, 1 - np.cos(2 * np.pi / num_values)))


def test_rank_one_recalls_two_values_only(rng):
    for _ in range(50):
        memory = np.outer(rng.standard_normal(6), rng.standard_normal(4))
        assert len({*recalled(memory, rng.standard_normal((30, 4)))[0].tolist()}) <= 2


@pytest.mark.parametrize(("n", "d"), [(1, 1), (3, 2), (5, 2), (5, 3), (6, 6)])
def test_probability_is_the_fraction_of_all_assignments(rng, n, d):
    keys = rng.standard_normal((n, d))
    stored = [widest_memory(keys, list(each), 2)[1] > 0 for each in product((0, 1), repeat=n)]
    assert stored_probability(n, d) == np.mean(stored)


def test_fractions_follow_the_probability_and_draws_do_not_depend_on_each_other():
    table = stored_fractions(4, [1.0, 2.0], [2], draws=60, seed=0)
    means = table.groupby("keys by dimension").stored.mean()
    assert means[1.0] == 1
    assert abs(means[2.0] - 0.5) < 4 * (0.25 / 60) ** 0.5
    alone = stored_fractions(4, [2.0], [2], draws=60, seed=0)
    assert alone.stored.tolist() == table[table["keys by dimension"] == 2.0].stored.tolist()


def test_unknown_values_are_named():
    with pytest.raises(ValueError, match="`values`"):
        widest_memory([[1.0]], [2], 2)
    with pytest.raises(ValueError, match="`num_values`"):
        widest_memory([[1.0]], [0], 1)
