import numpy as np
import pytest

from ntpcompanion.geometry import (
    all_supports,
    centred_support,
    certified_nuclear_gap,
    solve_nuclear_svm,
)
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
