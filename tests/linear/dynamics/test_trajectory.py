import numpy as np
import pytest

from ntpcompanion.linear.dynamics.alignment import measure_alignment
from ntpcompanion.linear.dynamics.descent import descend
from ntpcompanion.linear.dynamics.trajectory import (
    last_decoders,
    measure_trajectory,
    stability_edge,
)
from ntpcompanion.linear.separability.compatibility import check_compatibility
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream


@pytest.fixture
def table(rng):
    return ContextTable.random(5, 4, 2, 6, rng)


def test_a_trajectory_is_its_snapshots_with_their_alignment(table):
    run = {"optimizer": "gd", "learning_rate": 0.5, "steps": 20, "keep": [0, 3, 20]}
    svm = solve_ntp_svm(table).weights
    found = measure_trajectory(table, descend(table, rng=stream(0, "start"), **run), svm)
    snapshots = list(descend(table, rng=stream(0, "start"), **run))
    assert found.step.tolist() == [0, 3, 20]
    assert found.time.tolist() == [0, 1.5, 10]
    np.testing.assert_array_equal(found.weights, [at.weights for at in snapshots])
    expected = measure_alignment(table, found.weights, svm)
    np.testing.assert_array_equal(found.alignment.distance, expected.distance)
    with pytest.raises(ValueError, match="`snapshots` is empty"):
        measure_trajectory(table, [], svm)


def test_the_edge_is_where_the_hessian_far_out_turns_a_step_around(table):
    """Finite differences of the gradient at W* + 40 W^mm: off-support probabilities vanish."""
    svm, h = solve_ntp_svm(table, tol=1e-10).weights, 1e-6
    far = check_compatibility(table).finite_part + 40 * svm
    moves = h * np.eye(far.size).reshape(-1, *far.shape)
    hessian = np.array(
        [(table.gradient(far + e) - table.gradient(far - e)).ravel() / (2 * h) for e in moves]
    )
    assert stability_edge(table) == pytest.approx(2 / np.linalg.eigvalsh(hessian)[-1], rel=1e-6)


def test_last_decoders_are_those_of_single_runs_from_one_start(table):
    found = last_decoders(table, [0.1, 0.7], steps=30, rng=stream(0, "start"))
    for rate, weights in zip([0.1, 0.7], found, strict=True):
        run = {"optimizer": "gd", "learning_rate": rate, "steps": 30, "keep": [30]}
        (alone,) = descend(table, rng=stream(0, "start"), **run)
        np.testing.assert_array_equal(weights, alone.weights)


def test_without_a_context_of_two_successors_there_is_no_edge():
    one_hot = ContextTable(np.eye(2), np.eye(2, 3), np.array([0.5, 0.5]))
    with pytest.raises(ValueError, match="`table` must have a context with two successors"):
        stability_edge(one_hot)
