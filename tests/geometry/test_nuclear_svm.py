import cvxpy as cp
import numpy as np
import pytest

from ntpcompanion.geometry import (
    all_supports,
    centred_support,
    certified_nuclear_gap,
    solve_nuclear_svm,
)
from ntpcompanion.geometry.nuclear_svm import nearest_dual, nearest_feasible
from tests.geometry import oracles
from tests.geometry.cases import drawn_supports


def read_proof(support, answer):
    """Both sides of the proof, from their definitions."""
    L, A = answer.logits, answer.dual
    inside = np.where(support, L, np.nan)
    top, bottom = np.nanmax(inside, axis=1), np.nanmin(inside, axis=1)
    assert (top - bottom).max() < 1e-9
    assert (bottom - np.where(support, -np.inf, L).max(axis=1)).min() > 1 - 1e-9
    assert np.abs(A.sum(axis=1)).max() < 1e-9
    assert A[~support].max() <= 0
    assert np.linalg.svd(A, compute_uv=False)[0] <= 1 + 1e-9
    assert answer.norm == pytest.approx(np.linalg.svd(L, compute_uv=False).sum(), rel=1e-10)
    assert answer.bound == pytest.approx((A * centred_support(support)).sum(), rel=1e-9)
    return answer.norm, answer.bound


@pytest.mark.parametrize("size", [(8, 5, 2, 0), (6, 9, 3, 1), (16, 12, 3, 2), (5, 2, 1, 3)])
def test_the_norm_is_that_of_a_general_solver(size):
    support = drawn_supports(*size)
    answer = solve_nuclear_svm(support, tol=1e-8)
    norm, bound = read_proof(support, answer)
    assert answer.duality_gap == pytest.approx(1 - bound / norm, abs=1e-12)
    assert answer.duality_gap <= 1e-8
    assert norm == pytest.approx(oracles.nuclear_svm(support), rel=1e-6)


@pytest.mark.parametrize(("V", "k"), [(5, 1), (5, 2), (6, 3), (7, 6)])
def test_with_all_supports_of_a_size_the_proxy_is_the_solution(V, k):
    supports = all_supports(V, k)
    answer = solve_nuclear_svm(supports, tol=1e-10)
    read_proof(supports, answer)
    np.testing.assert_allclose(answer.logits, centred_support(supports), atol=1e-6)


def test_supports_of_many_sizes_and_repeated_rows_are_proved():
    rng = np.random.default_rng(5)
    support = rng.random((60, 25)) < rng.beta(1, 4, size=(60, 1))
    support[:, 0] |= ~support.any(axis=1)
    support[:, -1] &= ~support.all(axis=1)
    support = np.vstack([support, support[:20]])
    answer = solve_nuclear_svm(support)
    read_proof(support, answer)
    assert answer.duality_gap <= 1e-6


def test_the_average_over_exchanges_of_contexts_with_equal_supports_is_a_solution():
    """Proposition 1: equal rows for equal supports, and so equal rows of the factor H = U √Σ."""
    support = np.repeat(drawn_supports(4, 6, 2, 3), 3, axis=0)
    L = solve_nuclear_svm(support, tol=1e-10).logits
    L = L + np.kron(np.eye(4), np.array([[0.3], [-0.1], [-0.2]])) @ np.ones((4, 6)) * ~support
    L = L - 0.3 * ~support  # feasible, and not the shortest
    averaged = np.repeat(L.reshape(4, 3, 6).mean(axis=1), 3, axis=0)
    inside, outside = np.where(support, averaged, np.inf), np.where(support, -np.inf, averaged)
    assert (inside.min(axis=1) - outside.max(axis=1)).min() > 1 - 1e-9
    norms = [np.linalg.svd(one, compute_uv=False).sum() for one in (averaged, L)]
    assert norms[0] < norms[1] - 1e-3
    left, values, _ = np.linalg.svd(averaged, full_matrices=False)
    H = (left * np.sqrt(values))[:, values > 1e-9]
    np.testing.assert_allclose(H.reshape(4, 3, -1).std(axis=1), 0, atol=1e-9)


def test_a_spent_budget_leaves_a_valid_proof_with_its_gap():
    support = drawn_supports(30, 20, 4, 7)
    answer = solve_nuclear_svm(support, tol=1e-12, max_iterations=3)
    norm, bound = read_proof(support, answer)
    assert answer.iterations == 3
    assert 1e-12 < 1 - bound / norm < 0.2


def test_any_pair_is_judged():
    support = drawn_supports(12, 6, 2, 8)
    answer = solve_nuclear_svm(support, tol=1e-9)
    norm, bound = certified_nuclear_gap(support, answer.logits, answer.dual)
    assert (norm, bound) == pytest.approx((answer.norm, answer.bound), rel=1e-9)
    worse, lower = certified_nuclear_gap(support, np.zeros(support.shape), np.zeros(support.shape))
    assert lower == pytest.approx(0)
    assert worse >= answer.norm


@pytest.mark.parametrize(
    ("change", "words"),
    [({"tol": 0}, "`tol`"), ({"tol": "small"}, "`tol`"), ({"max_iterations": 0}, "max_iterations")],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named(change, words):
    with pytest.raises(ValueError, match=words):
        solve_nuclear_svm(all_supports(4, 2), **change)


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
