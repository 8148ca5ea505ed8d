import numpy as np
import pytest

from ntpcompanion.linear.svm.margin_programs import (
    constraint_pairs,
    least_frobenius_norm,
    least_max_norm,
)
from tests.linear.cases import table

CASE = table([[3, 4]], [[1, 1, 0]])


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
    if program is least_frobenius_norm:  # W is stationary: the scale of the multipliers
        np.testing.assert_allclose(answer.dual.T @ CASE.embeddings, weights, atol=1e-7)


def test_what_is_solved_before_the_first_iteration_counts_none():
    assert least_max_norm(table([[1.0]], [[1, 0]])).iterations == 0
    assert least_max_norm(CASE).iterations > 0


@pytest.mark.parametrize("program", [least_frobenius_norm, least_max_norm])
def test_without_a_solution_there_is_no_answer(program):
    assert program(table([[1.0], [1.0]], [[1, 0], [0, 1]])) is None
