import inspect
import math

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given, settings

from ntpcompanion.linear.dynamics.alignment import cosine_distance
from ntpcompanion.linear.dynamics.decomposed_loss import DecomposedLoss
from ntpcompanion.linear.dynamics.regularization_path import regularization_path
from ntpcompanion.linear.separability.compatibility import CompatibilityVerdict, check_compatibility
from ntpcompanion.linear.separability.decision import Verdict, check_separability
from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import degenerate_tables

module = inspect.getmodule(regularization_path)  # the package has a function of its name


@pytest.fixture
def drawn(rng):
    return ContextTable.random(8, 5, 3, 10, rng)


def by_a_general_solver(given_table, radius):
    """Minimize the cross-entropy in the ball, as it is written, by an interior-point method."""
    W = cp.Variable((given_table.vocab_size, given_table.dim))
    logits = given_table.embeddings @ W.T
    losses = cp.log_sum_exp(logits, axis=1) - cp.sum(
        cp.multiply(given_table.distributions.toarray(), logits), axis=1
    )
    problem = cp.Problem(cp.Minimize(given_table.weight @ losses), [cp.norm(W, "fro") <= radius])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return W.value


def textbook_svm(given_table):
    """The definition, handed to a general solver."""
    W, conditions = cp.Variable((given_table.vocab_size, given_table.dim)), []
    for h, inside in zip(given_table.embeddings, given_table.support.toarray(), strict=True):
        members, outside = np.flatnonzero(inside), np.flatnonzero(~inside)
        conditions += [W[z] @ h == W[members[0]] @ h for z in members[1:]] + [
            (W[members[0]] - W[v]) @ h >= 1 for v in outside
        ]
    cp.Problem(cp.Minimize(cp.sum_squares(W)), conditions).solve(
        solver=cp.CLARABEL, tol_gap_rel=1e-13, tol_gap_abs=1e-13, tol_feas=1e-13
    )
    return W.value


@pytest.mark.parametrize("radius", [0.1, 1.0, 5.0])
def test_it_is_what_a_general_solver_finds(drawn, radius):
    found, expected = regularization_path(drawn, [radius]), by_a_general_solver(drawn, radius)
    assert np.allclose(found.weights[0], expected, rtol=0, atol=2e-4 * radius)
    assert drawn.excess(found.weights[0]) <= drawn.excess(expected) + 1e-8


def test_every_point_lies_on_its_sphere_where_the_gradient_points_inwards(drawn):
    radii = np.geomspace(0.01, 20, 8)
    path = regularization_path(drawn, radii)
    finite = check_compatibility(drawn).finite_part
    assert np.allclose(np.linalg.norm(path.weights, axis=(1, 2)), radii, rtol=1e-11)
    for n, W in enumerate(path.weights):
        gradient = drawn.gradient(W)
        assert np.allclose(
            gradient,
            -math.exp(path.log_multiplier[n]) * W,
            rtol=0,
            atol=1e-8 * np.linalg.norm(gradient) + 1e-14,
        )
        assert path.log_excess[n] == pytest.approx(math.log(drawn.excess(W)), abs=1e-8)
        assert path.finite_error[n] == pytest.approx(
            np.linalg.norm(project_onto_F(drawn, W) - finite), rel=1e-5, abs=1e-9
        )
        bound = np.vdot(gradient, W) + radii[n] * np.linalg.norm(gradient)
        assert path.gap[n] * drawn.excess(W) == pytest.approx(bound, abs=1e-13)


def test_the_gap_of_a_point_that_is_not_the_minimizer_is_what_the_ball_allows(drawn, monkeypatch):
    """max over the ball of the linear model of the loss: ⟨∇CE, W⟩ + B ‖∇CE‖, at points that were
    moved along their sphere.
    """
    minimize = module._Path._minimize

    def miss(path):
        minimize(path)
        path.growing = path.growing + 1e-2 * np.linalg.norm(path.growing) / len(path.growing) ** 0.5

    monkeypatch.setattr(module._Path, "_minimize", miss)
    path = regularization_path(drawn, [4.0, 8.0])
    for radius, W, gap in zip(path.radii, path.weights, path.gap, strict=True):
        gradient = drawn.gradient(W)
        bound = np.vdot(gradient, W) + radius * np.linalg.norm(gradient)
        assert gap > 1e-6
        assert gap * drawn.excess(W) == pytest.approx(bound, rel=1e-6)


def test_far_out_it_has_the_direction_of_the_svm_and_the_finite_part(drawn):
    path = regularization_path(drawn, [1e2, 1e4, 1e6])
    svm = textbook_svm(drawn)
    distance = cosine_distance(path.weights, svm)
    assert distance[1] < 1e-5
    assert distance[2] < 1e-9
    assert path.finite_error[-1] < 1e-100
    assert np.all(path.gap < 1e-9)
    assert np.all(np.diff(path.log_excess) < 0)
    slope = np.diff(path.log_excess)[1] / np.diff(path.radii)[1]
    # CE − H falls like e^{−B / ‖W^mm‖}
    assert slope == pytest.approx(-1 / np.linalg.norm(svm), rel=1e-3)


def test_far_radii_are_reached_at_once_and_the_smallest_are_straight_down(drawn):
    path = regularization_path(drawn, [1e-6, 1e7])
    assert np.all(path.gap < 1e-9)
    assert np.linalg.norm(path.weights[1]) == pytest.approx(1e7, rel=1e-12)
    gradient = drawn.gradient(np.zeros((5, 10)))
    assert cosine_distance(path.weights[:1], -gradient)[0] < 1e-9


def test_radii_where_logits_lose_their_digits_are_refused(drawn):
    with pytest.raises(
        ValueError,
        match=r"`radii` times the longest embedding must not exceed 1e\+08, .*: 4\.\d+e\+09\.",
    ):
        regularization_path(drawn, [1.0, 1e9])


def test_a_doubling_of_the_radius_costs_some_ten_dense_systems(drawn, monkeypatch):
    """Because the next minimizer is predicted along the path: 78 systems for seven radii. Predicted
    the wrong way, each costs more.
    """
    systems, factor = [], module.lu_factor
    monkeypatch.setattr(
        module, "lu_factor", lambda matrix: systems.append(matrix.shape) or factor(matrix)
    )
    regularization_path(drawn, [10.0])  # from 0.2
    assert len(systems) <= 85


@pytest.mark.parametrize(
    ("overshoot", "length"), [(0.6, 1.0), (3.0, 0.5), (6.0, 0.25), (-1.0, None)]
)
@pytest.mark.parametrize("part", ["finite", "growing"])
def test_steps_are_halved_until_the_objective_falls_or_the_length_is_proved(
    drawn, rng, part, overshoot, length
):
    """A step `overshoot` times as long as the way to the minimizer; one that leads away from it
    never lowers the objective.
    """
    path = module._Path(DecomposedLoss(drawn), 1.0)
    path._minimize()
    away = {
        name: 5.0 * (name == part) * rng.standard_normal(len(getattr(path, name)))
        for name in ("finite", "growing")
    }
    path.finite, path.growing = path.finite + away["finite"], path.growing + away["growing"]
    step = -overshoot * away["finite"], -overshoot * away["growing"]
    reach = path.loss.largest_change(np.exp(-path.nu) * step[0], step[1])
    assert path._step_length(*step, reach) == pytest.approx(
        length or math.log1p(reach) / reach, rel=1e-15
    )
    assert path._step_length(**away, reach=1.0) == 1.0, (
        "steps that change logits by at most 1 are taken whole"
    )
    assert path._step_length(**away, reach=1.5) == math.log1p(1.5) / 1.5


@settings(max_examples=25)
@given(degenerate_tables())
def test_every_point_is_proved_whatever_the_table(given_table):
    lengths = np.linalg.norm(given_table.embeddings, axis=1)
    assume(lengths.max() < 30 and lengths[lengths > 0].min(initial=1) > 0.03)
    assume(check_separability(given_table).verdict is Verdict.SEPARABLE)
    assume(check_compatibility(given_table).verdict is CompatibilityVerdict.COMPATIBLE)
    path = regularization_path(given_table, np.geomspace(0.1, 1e4, 6) / lengths.max())
    assert np.all(path.gap < 1e-8)
    assert np.all(np.diff(path.log_excess) < 0)


@pytest.mark.parametrize(
    ("radii", "words"),
    [
        ([0.0, 1.0], "positive and finite, got 0"),
        ([1.0, 1.0], r"increasing, got \[1"),
    ],
)
def test_radii_must_be_positive_and_increase(drawn, radii, words):
    with pytest.raises(ValueError, match=rf"`radii` must be {words}"):
        regularization_path(drawn, np.array(radii))


def test_errors_say_what_to_do(drawn, monkeypatch):
    monkeypatch.setattr(module, "NEWTON_STEPS", 1)
    with pytest.raises(RuntimeError, match=r"found no minimizer for λ = .* in 1 Newton steps"):
        regularization_path(drawn, [5.0])
    monkeypatch.setattr(module, "NEWTON_STEPS", 500)
    monkeypatch.setattr(module, "MULTIPLIER_STEPS", 1)
    with pytest.raises(RuntimeError, match=r"did not reach the radius [0-9.]+ in 1 steps\."):
        regularization_path(drawn, [5.0])
