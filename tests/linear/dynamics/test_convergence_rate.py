from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.special import log_softmax

from ntpcompanion.linear.dynamics.convergence_rate import convergence_rate
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.svm.complementarity import tilted_pair
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import table as table_of


def exponent(table):
    return convergence_rate(table, solve_ntp_svm(table, tol=1e-12))


def slopes_of_the_velocity(table, log_times):
    """Minus d log |dW/d log t − W^mm| / d log t along the flow, from differences of decoders."""
    weights = gradient_flow(table, log_times, tol=1e-10).weights
    gaps = np.diff(log_times)
    velocity = np.diff(weights, axis=0) / gaps[:, None, None]
    error = np.linalg.norm(velocity - solve_ntp_svm(table, tol=1e-12).weights, axis=(1, 2))
    return -np.diff(np.log(error)) / gaps[1:]


@pytest.mark.parametrize("tilt", [0.01, 0.3, 0.9, 3.0])
def test_on_two_points_it_is_the_tilt(tilt):
    """By hand: (1 · (1, −δ)(1, −δ)ᵀ + δ (1, 1)(1, 1)ᵀ) / (1 + δ) = diag(1, δ)."""
    assert exponent(tilted_pair(tilt)) == pytest.approx(min(tilt, 1))


def test_the_next_margin_counts_as_well():
    """The margins are 1 and 1.2, and one multiplier is zero: the eigenvalue is 1, the slack 0.2."""
    table = table_of([[1.0, 0.0], [-1.2, 0.0]], np.eye(2))
    assert exponent(table) == pytest.approx(0.2)
    late = slopes_of_the_velocity(table, np.linspace(30, 70, 5))
    np.testing.assert_allclose(late, 0.2, rtol=0.01)


def test_gradient_flow_grows_along_w_mm_up_to_this_power():
    table = ContextTable.random(6, 5, 2, 7, np.random.default_rng(0))
    power = exponent(table)
    late = slopes_of_the_velocity(table, np.linspace(5, 8, 4) / power)
    np.testing.assert_allclose(late, power, rtol=0.05)


def test_where_the_offset_has_a_limit_leaks_times_t_are_the_multipliers():
    """The converse in the proof of the rate: t π_j q_jv tends to |Γ_jv| on all margins of 1."""
    table = ContextTable.random(6, 5, 2, 7, np.random.default_rng(0))
    solved = solve_ntp_svm(table, tol=1e-12)
    late = 12 / exponent(table)
    (weights,) = gradient_flow(table, np.array([late]), tol=1e-10).weights
    log_q = log_softmax(table.embeddings @ weights.T, axis=1)
    outside = table.next_token == 0
    leaks = np.exp((late + np.log(table.weight)[:, None] + log_q)[outside])
    np.testing.assert_allclose(leaks, -solved.dual[outside], atol=1e-3)
    assert (solved.dual[outside] < -0.01).sum() >= 6


def test_the_eigenvalue_is_that_of_the_whole_matrix():
    """All of it in R^{V d}: ties as rows of a matrix, their null space for P_⊥, and Σ |Γ| G Gᵀ."""
    table = ContextTable.random(6, 5, 2, 7, np.random.default_rng(2))
    solved, eye = solve_ntp_svm(table, tol=1e-12), np.eye(5)
    ties, matrix, beyond = [], 0.0, [1.0]
    for h, p in zip(table.embeddings, table.next_token, strict=True):
        first, *others = np.flatnonzero(p)
        ties += [np.kron(eye[first] - eye[z], h) for z in others]
    free = null_space(np.array(ties))
    for h, p, multipliers in zip(table.embeddings, table.next_token, solved.dual, strict=True):
        first = np.flatnonzero(p)[0]
        for v in np.flatnonzero(p == 0):
            contrast = free.T @ np.kron(eye[first] - eye[v], h)
            margin = contrast @ free.T @ solved.weights.ravel()
            if margin < 1 + 1e-7:
                matrix = matrix - multipliers[v] * np.outer(contrast, contrast)
            else:
                beyond.append(margin - 1)
    values = np.linalg.eigvalsh(matrix)
    least = min(values[values > 1e-9 * values[-1]][0], *beyond)
    assert exponent(table) == pytest.approx(least, rel=1e-6)


def test_where_no_power_is_known_the_reason_is_given():
    table = tilted_pair(0.0)
    with pytest.raises(ValueError, match=r"`solution` must be strictly complementary, got .* of"):
        exponent(table)
    solved = solve_ntp_svm(tilted_pair(0.5), tol=1e-12)
    with pytest.raises(ValueError, match="`weights` and `dual`"):
        convergence_rate(tilted_pair(0.5), replace(solved, dual=None))
    h = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, -1.0]])
    twice = table_of(h, [[1, 0], [1, 0], [0, 1]])
    dual = np.array([[0.25, -0.25], [0.25, -0.25], [-0.5, 0.5]])
    alike = replace(solve_ntp_svm(twice, tol=1e-12), dual=dual)
    with pytest.raises(ValueError, match="`table` must have linearly independent margins of 1"):
        convergence_rate(twice, alike)
