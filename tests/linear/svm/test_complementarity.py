from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ntpcompanion.linear.dynamics.alignment import measure_alignment
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.svm.complementarity import complementarity_gap, tilted_pair
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import table as table_of

SVM = np.array([[0.5, 0.0], [-0.5, 0.0]])


@pytest.mark.parametrize("tilt", [0.0, 0.01, 0.5, 2.0])
def test_the_pair_has_one_solution_and_the_multipliers_in_its_docstring(tilt):
    table = tilted_pair(tilt)
    solved = solve_ntp_svm(table, tol=1e-12)
    np.testing.assert_allclose(solved.weights, SVM, atol=1e-6)
    multiplier = tilt / (2 * (1 + tilt))
    combined = (0.5 - multiplier) * np.array([1, -tilt]) + multiplier * np.array([1, 1])
    np.testing.assert_allclose(combined, SVM[0], atol=1e-15)  # W^mm is that combination
    assert complementarity_gap(table, solved) == pytest.approx(min(multiplier, 0.5 - multiplier))


def test_a_margin_above_one_counts_as_much_as_a_multiplier():
    """The second margin is 3: its multiplier is zero, and complementarity is strict."""
    table = table_of([[1.0, 0.0], [-3.0, 0.0]], np.eye(2))
    solved = solve_ntp_svm(table, tol=1e-12)
    assert complementarity_gap(table, solved) == pytest.approx(0.5)
    assert complementarity_gap(table, replace(solved, weights=SVM / 2)) == pytest.approx(0.5)
    full = table_of([[1.0, 0.0], [0.0, 1.0]], [[1, 1], [1, 0]])
    assert complementarity_gap(full, solve_ntp_svm(full, tol=1e-12)) > 0


@pytest.mark.parametrize("tilt", [0.25, 0.0])
def test_any_dual_solution_that_is_strict_will_do(tilt):
    """The first context twice: its multiplier may be divided at will, also as all and nothing."""
    once = tilted_pair(tilt)
    solved = solve_ntp_svm(once, tol=1e-12)
    twice = table_of(once.embeddings[[0, 0, 1]], once.next_token[[0, 0, 1]])
    dual = np.array([solved.dual[0], [0, 0], solved.dual[1]])
    uneven = replace(solved, dual=dual)
    assert np.abs(dual.T @ twice.embeddings - SVM).max() < 1e-6, "a dual solution"
    expected = tilt / (2 * (1 + tilt))
    assert complementarity_gap(twice, uneven) == pytest.approx(expected, abs=1e-9)


def test_a_solution_that_cannot_be_judged_is_refused(rng):
    table = tilted_pair(0.5)
    solved = solve_ntp_svm(table)
    with pytest.raises(ValueError, match="`weights` and `dual`, got a verdict of SEPARABLE"):
        complementarity_gap(table, replace(solved, dual=None))
    with pytest.raises(ValueError, match=r"one of `table`: its dual has shape \(2, 2\)"):
        complementarity_gap(ContextTable.random(4, 3, 1, 4, rng), solved)
    with pytest.raises(ValueError, match="`tilt`"):
        tilted_pair(-0.1)


def reduced(tilt, log_times):
    """(a, b), the first row minus the second, in the variable log t, by a general solver."""
    points = np.array([[1.0, -tilt], [1.0, 1.0]])

    def velocity(s, u):
        return np.exp(s - np.logaddexp(0, points @ u)) @ points

    solved = solve_ivp(
        velocity, (-12, log_times[-1]), [0, 0], "LSODA", log_times, rtol=1e-10, atol=1e-10
    )
    return solved.y.T


@pytest.mark.parametrize("tilt", [0.0, 0.1])
def test_the_flow_of_the_pair_is_the_flow_in_two_coordinates(tilt):
    log_times = [0.0, 3.0, 10.0, 100.0, 300.0]
    weights = gradient_flow(tilted_pair(tilt), log_times, tol=1e-10).weights
    np.testing.assert_allclose(weights[:, 0], -weights[:, 1], rtol=1e-12)
    difference = weights[:, 0] - weights[:, 1]
    np.testing.assert_allclose(difference, reduced(tilt, log_times), rtol=1e-4)


def test_with_it_the_second_coordinate_tends_to_a_constant():
    tilt = 0.2
    u = reduced(tilt, [50.0, 600.0])
    np.testing.assert_allclose(u[:, 1], np.log(1 / tilt) / (1 + tilt), rtol=1e-3)
    aligned = measure_alignment(
        tilted_pair(tilt), gradient_flow(tilted_pair(tilt), [600.0]).weights, SVM
    )
    angle = np.log(1 / tilt) / (1 + tilt) / 600
    assert aligned.distance[0] == pytest.approx(angle**2 / 2, rel=0.01)
