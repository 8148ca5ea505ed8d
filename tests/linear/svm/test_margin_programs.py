import numpy as np
import pytest

from ntpcompanion.linear.dynamics.alignment import smallest_margins
from ntpcompanion.linear.separability.certificates import check_weights
from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.svm.margin_programs import (
    constraint_pairs,
    least_frobenius_norm,
    least_max_norm,
    least_weighted_norm,
)
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import table

CASE = table([[3, 4]], [[1, 1, 0]])
UNIT = ContextTable.random(6, 5, 2, 8, np.random.default_rng(0))
SCALE = np.random.default_rng(1).uniform(0.1, 10, (5, 8))


def rescaled(case, factors):
    return ContextTable(case.embeddings * factors, case.next_token, case.weight)


def test_each_tie_and_margin_is_said_once():
    case = table(np.eye(3), [[0, 1, 1, 0], [1, 0, 0, 0], [1, 1, 1, 1]])
    ties, margins = constraint_pairs(case)
    assert ties.T.tolist() == [[0, 1, 2], [2, 0, 1], [2, 0, 2], [2, 0, 3]]
    assert margins.T.tolist() == [[0, 1, 0], [0, 1, 3], [1, 0, 1], [1, 0, 2], [1, 0, 3]]


@pytest.mark.parametrize(
    ("program", "weights"),
    [
        # two words a above one: a − b = h / ‖h‖², a sum of zero
        (least_frobenius_norm, np.outer([1 / 3, 1 / 3, -2 / 3], [0.12, 0.16])),
        # every entry of the size 1 / (2 · 7)
        (least_max_norm, np.outer([1, 1, -1], [1 / 14, 1 / 14])),
    ],
)
def test_by_hand(program, weights):
    answer = program(CASE)
    np.testing.assert_allclose(answer.weights, weights, atol=1e-7)
    np.testing.assert_allclose(answer.dual.sum(axis=1), 0, atol=1e-9)
    assert answer.dual[0, 2] < 0


def test_what_is_solved_before_the_first_iteration_counts_none():
    assert least_max_norm(table([[1.0]], [[1, 0]])).iterations == 0
    assert least_max_norm(CASE).iterations > 0


@pytest.mark.parametrize("program", [least_frobenius_norm, least_max_norm])
def test_without_a_solution_there_is_no_answer(program):
    assert program(table([[1.0], [1.0]], [[1, 0], [0, 1]])) is None


@pytest.mark.parametrize("power", [-8, -6, -3, 3, 5, 8])
@pytest.mark.parametrize(
    "solve",
    [
        lambda case: least_weighted_norm(case, np.ones((5, 8))),
        lambda case: least_weighted_norm(case, SCALE),
    ],
)
def test_decoders_shrink_as_embeddings_grow(solve, power):
    np.testing.assert_allclose(
        solve(rescaled(UNIT, 10.0**power)) * 10.0**power, solve(UNIT), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("spread", [1, 3, 5])
@pytest.mark.parametrize("support_size", [1, 2])
def test_embeddings_of_very_different_lengths(spread, support_size, rng):
    case = ContextTable.random(6, 5, support_size, 8, rng)
    case = rescaled(case, 10 ** rng.uniform(-spread, spread, (6, 1)))
    exact = solve_ntp_svm(case, tol=1e-9)
    weights = least_weighted_norm(case, np.ones((5, 8)))
    assert check_weights(case, weights * (1 + 1e-9)).holds
    assert np.linalg.norm(weights) == pytest.approx(np.linalg.norm(exact.weights), rel=1e-8)
    assert np.linalg.norm(weights - exact.weights) < 1e-4 * np.linalg.norm(weights)


@pytest.mark.parametrize("support_size", [1, 3])
def test_the_weighted_solution_is_optimal(rng, support_size):
    table, scale = ContextTable.random(9, 5, support_size, 11, rng), rng.uniform(0.1, 10, (5, 11))
    W = least_weighted_norm(table, scale)
    assert smallest_margins(table, W[None])[0] == pytest.approx(1, abs=1e-7)
    assert np.abs(project_onto_F(table, W)).max() < 1e-7
    for _ in range(20):  # no feasible neighbour is smaller
        other = W + 0.01 * rng.standard_normal(W.shape)
        other -= project_onto_F(table, other)
        other /= smallest_margins(table, other[None])[0]
        assert (scale * W**2).sum() <= (scale * other**2).sum() + 1e-7
    table_not_separable = ContextTable(np.ones((2, 1)), np.eye(2), np.full(2, 0.5))
    with pytest.raises(ValueError, match=r"^`table` must be separable: no decoder ties"):
        least_weighted_norm(table_not_separable, np.ones((2, 1)))


def test_weights_that_are_no_norm_are_refused(rng):
    with pytest.raises(ValueError, match=r"`scale` must be positive, its smallest entry is 0\.0\."):
        least_weighted_norm(ContextTable.random(3, 4, 2, 5, rng), np.eye(4, 5))
