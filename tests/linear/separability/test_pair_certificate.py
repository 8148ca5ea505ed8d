"""Two words that no decoder separates: read by exact fractions and the dense checks."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import hilbert

from ntpcompanion.linear import ContextTable, check_separability
from ntpcompanion.linear.separability.certificates import check_certificate
from ntpcompanion.linear.separability.pair_certificate import (
    _radius,
    find_pair_certificate,
)
from ntpcompanion.linear.tables.large_tables import planted_table
from ntpcompanion.randomness import stream


@pytest.fixture
def table():
    rng = stream(0, "refuted")
    return ContextTable(
        rng.standard_normal((60, 4)) * rng.uniform(0.1, 10, (60, 1)),
        np.eye(3)[rng.integers(3, size=60)],
        np.full(60, 1 / 60),
    )


def test_the_dense_check_accepts_the_certificate(table):
    found = find_pair_certificate(table, most_frequent=3)
    assert found.verify(table)
    gamma = found.matrix(table)
    assert check_certificate(table, gamma.toarray()).holds
    assert check_separability(table).verdict.name == "NOT_SEPARABLE"


def test_the_exact_solution_over_fractions_is_within_the_radius(table):
    found = find_pair_certificate(table, most_frequent=3)
    a, _ = found.tokens
    rows = table.embeddings[found.contexts]
    exponents = np.frexp(np.linalg.norm(rows, axis=1))[1]
    signs = np.where(table.next_token[found.contexts, a] > 0, 1.0, -1.0)
    scaled = np.ldexp(rows, -exponents[:, None]) * signs[:, None]
    system = [[Fraction(x) for x in row] for row in np.vstack([scaled.T, np.ones(5)])]
    exact = solve_exactly(system, [Fraction(0)] * 4 + [Fraction(1)])
    assert min(exact) > 0
    errors = [abs(x - Fraction(y)) for x, y in zip(exact, found.weights, strict=True)]
    assert max(errors) <= found.radius


@pytest.mark.parametrize("n", [3, 5, 7])
def test_the_radius_holds_a_solution_whose_residual_does_not_show_how_far_it_is(n):
    """Moved along the direction that the matrix shrinks most, against exact fractions."""
    system, target = hilbert(n), np.ones(n)
    weakest = np.linalg.svd(system)[2][-1]
    moved = np.linalg.solve(system, target) + weakest
    exact = solve_exactly([[Fraction(x) for x in row] for row in system], [Fraction(1)] * n)
    error = max(abs(x - Fraction(y)) for x, y in zip(exact, moved, strict=True))
    assert error <= _radius(system, target, moved) < 10 * n * error


@pytest.mark.parametrize("n", [12, 13])
def test_no_radius_is_proved_where_rounding_may_hide_a_singular_matrix(n):
    assert _radius(hilbert(n), np.ones(n), np.ones(n)) == np.inf


def solve_exactly(system, target):
    """Gauss and Jordan over fractions."""
    rows = [[*row, b] for row, b in zip(system, target, strict=True)]
    for k in range(len(rows)):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i, row in enumerate(rows):
            if i != k and row[k]:
                rows[i] = [x - row[k] * y for x, y in zip(row, rows[k], strict=True)]
    return [row[-1] for row in rows]


def test_a_separable_table_has_no_certificate():
    table = planted_table(40, 6, 2, 12, stream(0, "separable"))
    assert find_pair_certificate(table, most_frequent=6) is None


def test_a_certificate_of_something_else_is_not_accepted(table):
    found = find_pair_certificate(table)
    assert found.verify(table), "by default at most as many words as there are"
    for forged in (
        replace(found, weights=found.weights[::-1]),
        replace(found, tokens=found.tokens[::-1], weights=-found.weights),
        replace(found, tokens=(found.tokens[0],) * 2),
        replace(found, contexts=found.contexts[:-1], weights=found.weights[:-1]),
    ):
        assert not forged.verify(table)
    other = ContextTable(table.embeddings + 9, table.next_token, table.weight)
    assert not found.verify(other)


def test_too_few_words_are_refused(table):
    with pytest.raises(ValueError, match="`most_frequent` must"):
        find_pair_certificate(table, most_frequent=1)
