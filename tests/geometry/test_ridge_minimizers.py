import cvxpy as cp
import numpy as np
import pytest
from scipy.special import log_softmax

from ntpcompanion.geometry import ridge_path, solve_nuclear_svm
from ntpcompanion.geometry.geometry_bounds import Distributions, relative_gap
from ntpcompanion.geometry.ridge_minimizers import balanced_factors
from tests.geometry.cases import drawn_table

RIDGES = [1e-1, 1e-2, 1e-3, 1e-4]


def convex_minimum(laws, weight, ridge):
    L = cp.Variable(laws.shape)
    losses = [cp.log_sum_exp(L[j]) - laws[j] @ L[j] for j in range(len(laws))]
    objective = weight @ cp.hstack(losses) + ridge * cp.normNuc(L)
    return cp.Problem(cp.Minimize(objective)).solve(solver=cp.SCS, eps=1e-8, max_iters=100_000)


def test_the_path_reaches_the_convex_minimum():
    laws, weight = drawn_table(7, 5, 2, 0)
    entropy = -weight @ (laws * np.log(np.where(laws > 0, laws, 1))).sum(axis=1)
    for found in ridge_path(laws, weight, RIDGES[:3], tol=1e-8):
        wanted = convex_minimum(laws, weight, found.ridge)
        assert entropy + found.objective == pytest.approx(wanted, abs=2e-6)


def test_minimizers_are_proved_balanced_and_centred():
    laws, weight = drawn_table(12, 6, 3, 1)
    for found in ridge_path(laws, weight, RIDGES):
        assert relative_gap(found.logits, Distributions.of(laws, weight), found.ridge) <= 1e-6
        H, W = found.contexts, found.words
        np.testing.assert_allclose(H.T @ H, W.T @ W, atol=1e-9)
        assert np.abs(W.sum(axis=0)).max() < 1e-4


def test_a_start_of_too_low_rank_does_not_end_the_search():
    # the minimizer at the first penalty has a lower rank than the one at the next
    laws, weight = drawn_table(20, 10, 3, 0)
    first, second = ridge_path(laws, weight, [3e-2, 1e-4])
    rank = [np.linalg.matrix_rank(one.logits, tol=1e-6) for one in (first, second)]
    assert rank[0] < rank[1]
    assert second.gap <= 1e-6


def test_the_excess_over_the_penalty_tends_to_the_nuclear_norm_of_the_svm():
    laws, weight = drawn_table(10, 5, 2, 3)
    norm = solve_nuclear_svm(laws > 0, tol=1e-9).norm
    errors = [
        abs(found.excess / found.ridge / norm - 1)
        for found in ridge_path(laws, weight, [1e-2, 1e-3, 1e-4, 1e-5, 1e-6])
    ]
    assert errors[-1] < 0.02
    assert errors[-1] < errors[2] < errors[0]


def test_the_steps_of_the_proof_that_gives_the_rates():
    """With A = π (p − q) / λ and a = Σ |A| off the supports: |A| ≤ 1, a ≤ ‖L^mm‖_*, which it nears
    like 1 / log(1/λ); ‖L‖_* = a log(1/λ) + O(1); CE − H = λ a + O(λ²); no margin is below
    log(1/λ) + log(π_j q_jz); in-support log-probabilities are right up to λ |A_jz| / (π_j p_jz).
    """
    laws, weight = drawn_table(10, 5, 2, 3)
    inside, ridges = laws > 0, np.array([1e-3, 1e-4, 1e-5, 1e-6])
    norm = solve_nuclear_svm(inside, tol=1e-9).norm
    found = ridge_path(laws, weight, ridges.tolist(), tol=1e-9)
    beside, short = [], []
    for ridge, at in zip(ridges, found, strict=True):
        log_q = log_softmax(at.logits, axis=1)
        A = weight[:, None] * (laws - np.exp(log_q)) / ridge
        nuclear = np.linalg.svd(at.logits, compute_uv=False).sum()
        assert np.linalg.svd(A, compute_uv=False)[0] <= 1 + 1e-4
        assert (A * at.logits).sum() == pytest.approx(nuclear, rel=1e-4)
        a = np.abs(A[~inside]).sum()
        short.append((norm - a) * np.log(1 / ridge))
        beside.append(nuclear - a * np.log(1 / ridge))
        share = np.where(inside, A / weight[:, None] / np.where(inside, laws, 1), 0) * ridge
        second = (weight[:, None] * laws * share**2).sum() / 2
        assert at.excess == pytest.approx(ridge * a + second, rel=1e-2 * ridge**0.5)
        off = log_q - np.log(np.where(inside, laws, 1))
        np.testing.assert_allclose(off[inside], np.log1p(-share[inside]), atol=1e-9)
        for j, row in enumerate(log_q):
            margin = row[inside[j]].min() - row[~inside[j]].max()
            assert margin >= np.log(weight[j] / ridge) + row[inside[j]].min() - 1e-4
    assert min(short) > 0
    for bounded in (short, beside):
        assert np.abs(bounded).max() < 1.35 * abs(bounded[0])


def test_a_large_penalty_is_least_at_zero():
    laws, weight = drawn_table(20, 10, 3, 0)
    large, small = ridge_path(laws, weight, [1.0, 1e-2])
    assert not large.logits.any()
    assert large.gap == 0
    assert small.gap <= 1e-6


def test_fewer_dimensions_than_the_rank_cost_something_and_more_nothing():
    laws, weight = drawn_table(12, 6, 3, 1)
    free = ridge_path(laws, weight, [1e-2, 1e-4])[-1]
    rank = int(np.linalg.matrix_rank(free.logits, tol=1e-6))
    enough = ridge_path(laws, weight, [1e-2, 1e-4], dim=rank)[-1]
    few = ridge_path(laws, weight, [1e-2, 1e-4], dim=1)[-1]
    assert enough.objective == pytest.approx(free.objective, rel=1e-5)
    assert few.objective > 1.01 * free.objective
    assert few.gap > 1e-3


def test_balanced_factors_are_padded_or_cut():
    logits = np.random.default_rng(0).standard_normal((4, 3))
    H, W = balanced_factors(logits, 5)
    assert H.shape == (4, 5)
    assert W.shape == (3, 5)
    np.testing.assert_allclose(H @ W.T, logits, atol=1e-12)
    H, W = balanced_factors(logits, 2)
    values = np.linalg.svd(logits, compute_uv=False)
    assert np.linalg.norm(logits - H @ W.T) == pytest.approx(values[2])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ridges": []}, "`ridges` must hold"),
        ({"ridges": [1e-3, 1e-2]}, "`ridges` must fall"),
        ({"ridges": [0.0]}, "ridges"),
        ({"ridges": [np.nan]}, "ridges"),
        ({"dim": 0}, "`dim`"),
        ({"tol": 1}, "`tol`"),
        ({"weight": [1.0]}, "`weight`"),
        ({"next_token": [[0.5, 0.5], [0.7, 0.7]]}, "`next_token`"),
        ({"max_iterations": 0}, "max_iterations"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named(change, words):
    given = {"next_token": [[1.0, 0.0], [0.0, 1.0]], "weight": [0.5, 0.5], "ridges": [0.1]}
    with pytest.raises(ValueError, match=words):
        ridge_path(**{**given, **change})
