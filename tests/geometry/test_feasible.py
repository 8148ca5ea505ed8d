import cvxpy as cp
import numpy as np
import pytest

from ntpcompanion.geometry.feasible import nearest_dual, nearest_feasible
from tests.geometry.cases import drawn_supports

SIZES = [(6, 5, 2, 0), (4, 8, 7, 1), (5, 7, 1, 2), (3, 2, 1, 3)]


def projected(matrix, conditions):
    X = cp.Variable(matrix.shape)
    cp.Problem(cp.Minimize(cp.sum_squares(X - matrix)), conditions(X)).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
    )
    return X.value


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_nearest_feasible_logits_are_those_of_a_quadratic_program(size, scale):
    support = drawn_supports(*size)
    logits = scale * np.random.default_rng(9).standard_normal(support.shape)

    def conditions(X):
        for j, row in enumerate(support):
            anchor = X[j, np.flatnonzero(row)[0]]
            yield X[j, np.flatnonzero(row)] == anchor
            yield X[j, np.flatnonzero(~row)] <= anchor - 1

    wanted = projected(logits, lambda X: list(conditions(X)))
    np.testing.assert_allclose(nearest_feasible(logits, support), wanted, atol=1e-6 * (1 + scale))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scale", [0.1, 10.0])
def test_nearest_dual_matrix_is_that_of_a_quadratic_program(size, scale):
    support = drawn_supports(*size)
    matrix = scale * np.random.default_rng(8).standard_normal(support.shape)
    wanted = projected(matrix, lambda X: [cp.sum(X, axis=1) == 0, X[~support] <= 0])
    np.testing.assert_allclose(nearest_dual(matrix, support), wanted, atol=1e-6 * (1 + scale))


def test_what_is_feasible_stays():
    support = drawn_supports(6, 5, 2, 4)
    logits = np.where(support, 2.0, 0.5)
    np.testing.assert_array_equal(nearest_feasible(logits, support), logits)
    inside = support / support.sum(axis=1, keepdims=True)
    outside = ~support / (~support).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        nearest_dual(inside - outside, support), inside - outside, atol=1e-15
    )
