import numpy as np
import pytest

from ntpcompanion.linear.dynamics.alignment import cosine_distance
from ntpcompanion.linear.dynamics.descent import descend, step_bound
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.dynamics.late_time_direction import compare_growth
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream


@pytest.fixture
def table(rng):
    return ContextTable.random(4, 4, 2, 5, rng)


def test_the_flow_is_its_own_control(table, rng):
    svm = solve_ntp_svm(table, tol=1e-12).weights
    start = rng.standard_normal((4, 5))
    A, B, C = gradient_flow(table, [4.04, 6.33, 7.77], start=start).weights
    found = compare_growth(table, [A, B], [B, C], svm, start=start)
    np.testing.assert_allclose(found.log_times, [[4.04, 6.33], [6.33, 7.77]], atol=0.01)
    np.testing.assert_allclose(found.flow_cosine, found.cosine, atol=1e-5)
    assert found.cosine[1] == pytest.approx(1 - cosine_distance((C - B)[None], svm)[0])
    assert found.positions[1, 1] == pytest.approx(np.vdot(C, svm) / np.vdot(svm, svm))


def test_gradient_descent_grows_as_the_flow_does_and_a_stray_does_not(table):
    svm = solve_ntp_svm(table, tol=1e-12).weights
    run = {"optimizer": "gd", "learning_rate": step_bound(table), "steps": 2000}
    snapshots = descend(table, keep=[0, 500, 2000], rng=stream(0, "start"), **run)
    start, first, last = [snapshot.weights for snapshot in snapshots]
    aside = np.zeros(svm.shape)
    aside[0, 0] = np.linalg.norm(last - first)
    found = compare_growth(table, [first] * 2, [last, last + aside], svm, start=start)
    assert found.cosine[0] == pytest.approx(found.flow_cosine[0], abs=1e-3)
    assert found.cosine[1] < found.flow_cosine[1] - 0.05


def test_a_position_beyond_the_first_guess_is_found_and_a_step_back_is_refused():
    """Rare contexts come late: the flow has position 4 later than at log t = 15."""
    weight = np.array([1 - 2e-8, 1e-8, 1e-8])
    table = ContextTable(np.diag([100.0, 1.0, 1.0]), np.eye(3), weight)
    svm = solve_ntp_svm(table, tol=1e-12).weights
    zero = np.zeros(svm.shape)
    found = compare_growth(table, [4 * svm], [5 * svm], svm, start=zero)
    assert found.positions[0] == pytest.approx((4, 5))
    assert 15 < found.log_times[0, 0] < found.log_times[0, 1]
    assert found.flow_cosine[0] < found.cosine[0] == pytest.approx(1)
    with pytest.raises(ValueError, match="must be farther along"):
        compare_growth(table, [svm], [zero], svm, start=zero)
