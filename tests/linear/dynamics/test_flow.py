import math
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import OptimizeResult, root

from ntpcompanion.linear.dynamics import flow as flow_module
from ntpcompanion.linear.dynamics.decomposed_loss import DecomposedLoss
from ntpcompanion.linear.dynamics.descent import descend
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.separability.compatibility import CompatibilityVerdict, check_compatibility
from ntpcompanion.linear.separability.decision import Verdict, check_separability
from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import degenerate_tables, table


@pytest.fixture
def drawn(rng):
    return ContextTable.random(8, 5, 3, 10, rng)


def by_a_general_solver(given_table, start, times):
    """The plain differential equation in t, entry by entry, to high accuracy."""
    shape = start.shape
    solved = solve_ivp(
        lambda t, W: -given_table.gradient(W.reshape(shape)).ravel(),
        (0, times[-1]),
        start.ravel(),
        method="LSODA",
        t_eval=times,
        rtol=1e-10,
        atol=1e-11,
    )
    return solved.y.T.reshape(-1, *shape)


def test_it_is_the_flow_that_a_general_solver_finds(drawn, rng):
    start, times = rng.standard_normal((5, 10)), np.array([1e-3, 0.1, 1.0, 30.0, 1e3, 1e4])
    expected = by_a_general_solver(drawn, start, times)
    found = gradient_flow(drawn, np.log(times), start=start, tol=1e-9)
    assert np.allclose(found.weights, expected, rtol=0, atol=3e-7)
    assert np.allclose(
        found.log_excess, [math.log(drawn.excess(W)) for W in expected], rtol=0, atol=1e-6
    )
    finite = check_compatibility(drawn).finite_part
    assert np.allclose(
        found.finite_error,
        [np.linalg.norm(project_onto_F(drawn, W) - finite) for W in expected],
        rtol=1e-4,
        atol=1e-8,
    )


def test_gradient_descent_tends_to_it_in_proportion_to_the_step(drawn, rng):
    start, times = rng.standard_normal((5, 10)), (10, 100, 1000)
    found = gradient_flow(drawn, np.log(times), start=start, tol=1e-9).weights

    def weights(eta):
        run = {
            "learning_rate": eta,
            "steps": round(times[-1] / eta),
            "keep": [round(t / eta) for t in times],
            "start": start,
        }
        return np.array(
            [snapshot.weights for snapshot in descend(drawn, optimizer="gd", rng=rng, **run)]
        )

    coarse, fine = weights(0.04), weights(0.02)
    assert np.abs(2 * fine - coarse - found).max() < 3e-6  # the error linear in the step is gone
    assert np.allclose(coarse - found, 2 * (fine - found), rtol=0, atol=3e-6)
    assert np.abs(fine - found).max() > 3e-5


def test_a_smaller_tolerance_changes_as_little_as_it_says(drawn):
    times = [0.0, 5.0, 20.0, 100.0, 1e4]
    rough, fine, finer = (gradient_flow(drawn, times, tol=tol) for tol in (1e-5, 1e-7, 1e-9))
    for one, scale in ((rough, 1e-5), (fine, 1e-7)):
        sizes = 1 + np.abs(finer.weights).max(axis=(1, 2), keepdims=True)
        assert (np.abs(one.weights - finer.weights) / sizes).max() < 30 * scale
        assert (np.abs(one.log_excess - finer.log_excess) / sizes[:, 0, 0]).max() < 30 * scale


def test_taking_the_part_in_F_at_its_equilibrium_costs_less_than_the_tolerance(drawn, monkeypatch):
    times = np.log([1e5, 1e8, 1e12])
    quasi_steady = gradient_flow(drawn, times, tol=1e-8)
    monkeypatch.setattr(flow_module, "QUASI_STEADY", 1e20)
    free = gradient_flow(drawn, times, tol=1e-8)
    assert quasi_steady.quasi_steady_from < times[0] < times[-1] < free.quasi_steady_from
    assert np.abs(quasi_steady.weights - free.weights).max() < 1e-6
    assert np.allclose(quasi_steady.finite_error, free.finite_error, rtol=1e-5)


def test_the_finite_error_keeps_its_digits_far_below_the_rounding_of_W(drawn):
    found = gradient_flow(drawn, [30.0, 60.0, 100.0])
    assert np.abs(np.diff(np.log(found.finite_error) + found.log_times)).max() < 0.05  # like 1/t
    assert found.finite_error[-1] < 1e-40


def test_the_coordinates_are_those_of_the_weights(drawn, rng):
    found, loss = (
        gradient_flow(drawn, [1.0, 4.0, 30.0], start=rng.standard_normal((5, 10))),
        DecomposedLoss(drawn),
    )
    for W, log_scale, finite, growing in zip(
        found.weights, found.log_scales, found.finite, found.growing, strict=True
    ):
        shift, rest = loss.coordinates(W)
        assert np.allclose(np.exp(log_scale) * finite, shift, atol=1e-12)
        assert np.allclose(growing, rest, atol=1e-12)
    assert np.allclose(found.log_scales, -np.log1p(np.exp(found.log_times)))


def test_one_direction_has_a_closed_form():
    one = ContextTable(np.array([[1.0]]), np.array([[1.0, 0.0]]), np.ones(1))
    times = [-3.0, 0.0, 10.0, 500.0, 1e5]
    # dx/dt = 1 / (1 + e^{2x}), so x + (e^{2x} − 1) / 2 = t
    x = gradient_flow(one, times, tol=1e-9).weights[:, 0, 0]
    assert np.allclose(x[:3] + np.expm1(2 * x[:3]) / 2, np.exp(times[:3]), rtol=1e-6)
    assert np.allclose(2 * x[3:] - math.log(2), times[3:], atol=1e-4)


@settings(max_examples=20)
@given(degenerate_tables(), st.integers(0, 100))
def test_along_every_flow_the_loss_falls_to_the_floor(given_table, seed):
    lengths = np.linalg.norm(given_table.embeddings, axis=1)
    assume(lengths.max() < 30 and lengths[lengths > 0].min(initial=1) > 0.03)
    assume(check_separability(given_table).verdict is Verdict.SEPARABLE)
    assume(check_compatibility(given_table).verdict is CompatibilityVerdict.COMPATIBLE)
    start = np.random.default_rng(seed).standard_normal((given_table.vocab_size, given_table.dim))
    found = gradient_flow(given_table, [-2.0, 0.0, 5.0, 30.0, 1e3], start=start)
    assert np.all(np.diff(found.log_excess) < 1e-6)
    assert found.log_excess[-1] < -900
    W = found.weights[2]
    assert found.log_excess[2] == pytest.approx(math.log(given_table.excess(W)), abs=1e-6)
    assert np.isfinite(found.weights).all()


def test_what_gradients_do_not_move_stays(drawn, rng):
    start = rng.standard_normal((5, 10))
    found = gradient_flow(drawn, [10.0, 50.0], start=start).weights
    unseen = np.eye(10) - np.linalg.pinv(drawn.embeddings) @ drawn.embeddings
    assert np.allclose((found - start) @ unseen, 0, atol=1e-10)
    assert np.allclose((found - start).sum(axis=1), 0, atol=1e-10)


def test_times_may_all_be_early_or_all_late_or_one(drawn):
    every = gradient_flow(drawn, [1.0, 2.0, 50.0, 60.0])
    early, late, one = (
        gradient_flow(drawn, [1.0, 2.0]),
        gradient_flow(drawn, [50.0, 60.0]),
        gradient_flow(drawn, [60.0]),
    )
    assert np.allclose(np.concatenate([early.weights, late.weights]), every.weights, atol=3e-5)
    assert np.allclose(one.weights[0], every.weights[-1], atol=3e-5)


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([1.0, 1.0], r"must be increasing, got \[1\.0, 1\.0\]"),
        ([-800.0], "must lie in -700 … inf, got .* from -800"),
    ],
)
def test_times_must_increase(drawn, times, words):
    with pytest.raises(ValueError, match=f"^`log_times` {words}"):
        gradient_flow(drawn, np.array(times))


def test_other_tables_are_for_the_public_function():
    clash = table([[1.0], [1.0]], [[1, 0], [0, 1]])
    with pytest.raises(
        ValueError, match=r"`table` must be separable, .* `check_separability` says NOT_SEPARABLE"
    ):
        gradient_flow(clash, [1.0])
    twins = ContextTable(
        np.ones((2, 1)), np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]), np.full(2, 0.5)
    )
    with pytest.raises(ValueError, match=r"`table` must be compatible"):
        gradient_flow(twins, [1.0])


def test_an_integration_that_takes_too_long_says_where_it_stopped(drawn, monkeypatch):
    monkeypatch.setattr(flow_module, "EVALUATIONS", 20)
    words = re.escape(
        "20 gradients are spent. Embeddings of very different lengths are the usual reason, and "
        "times that are hardly apart or too large."
    )
    with pytest.raises(
        RuntimeError, match=rf"`gradient_flow` stopped at log\(1 \+ t\) = [\d.e-]+: {words}"
    ):
        gradient_flow(drawn, [10.0])


def test_a_loss_that_rises_is_an_error_at_the_time_where_it_does(drawn, monkeypatch):
    def ending_with(*log_excess):
        values = iter(log_excess)
        monkeypatch.setattr(DecomposedLoss, "log_excess", lambda loss, point: next(values))
        return gradient_flow(drawn, [0.0, 1.0, 2.0, 3.0], tol=1e-3)

    # within a hundred times the tolerance
    assert ending_with(0.0, -1.0, -0.9001, -2.0).log_excess[2] == -0.9001
    with pytest.raises(
        RuntimeError,
        match=r"stopped at log\(1 \+ t\) = 2\.127: the loss rises there, which it never does",
    ):
        ending_with(0.0, -1.0, -0.8999, -2.0)


@pytest.mark.parametrize(
    ("sigma", "far", "renewed"), [(8.0, 0.0, False), (5.0, 0.0, True), (8.0, 9e3, True)]
)
def test_the_part_in_F_settles_where_its_velocity_is_zero(drawn, sigma, far, renewed):
    """Wherever the search begins, and with a curvature that is renewed if that of the limit is too
    far off; against a general solver.
    """
    loss = DecomposedLoss(drawn)
    # all margins are σ
    growing = (
        sigma * loss.coordinates((np.linalg.pinv(drawn.embeddings) @ drawn.support.toarray()).T)[1]
    )
    tol, start = 1e-6, np.zeros(len(loss.bases.finite))
    given = flow_module._Integration(loss, tol)
    exact = root(
        lambda x: np.exp(sigma) * loss.gradient(loss.point(x, growing, -sigma))[0] - x,
        start,
        tol=1e-13,
    ).x
    limit, given.settled = given.curvatures, start + far * np.sign(exact)
    found = given._settle(sigma, growing)
    assert np.linalg.norm(found - exact) <= 1e-3 * tol * np.linalg.norm(exact)
    assert np.array_equal(given.curvatures, limit) != renewed
    assert given.evaluations <= 6 or renewed, "near the equilibrium no step is shortened"
    given.settled = np.full(len(start), np.inf)
    with np.errstate(invalid="ignore"):
        assert np.isnan(given._settle(sigma, growing)).all()


def test_it_settles_where_one_over_t_is_zero_as_a_number(drawn):
    """With margins of σ the equilibrium is that of the limit, but for e^−σ: the same at σ = 50, and
    at 800, where e^−σ underflows.
    """
    loss = DecomposedLoss(drawn)
    unit = loss.coordinates((np.linalg.pinv(drawn.embeddings) @ drawn.support.toarray()).T)[1]
    given, start = flow_module._Integration(loss, 1e-6), np.zeros(len(loss.bases.finite))
    found = []
    for sigma in (50.0, 800.0):
        given.settled = start
        found.append(given._settle(sigma, sigma * unit))
    assert np.linalg.norm(found[0]) > 0.1
    assert np.allclose(found[1], found[0], rtol=1e-7)


def test_the_switch_waits_for_the_smallest_curvature_at_the_limit(drawn):
    hessian = sum(
        weight
        * np.kron(np.diag(distribution) - np.outer(distribution, distribution), np.outer(h, h))
        for weight, distribution, h in zip(
            drawn.weight, drawn.distributions.toarray(), drawn.embeddings, strict=True
        )
    )
    curvatures = np.linalg.eigvalsh(hessian)
    smallest = curvatures[curvatures > 1e-10].min()  # zero on what ties
    assert gradient_flow(drawn, [0.0]).quasi_steady_from == pytest.approx(
        math.log(1e3 / smallest), rel=1e-9
    )


def test_curvatures_that_vanish_are_taken_as_rounding(drawn):
    given = flow_module._Integration(DecomposedLoss(drawn), 1e-6)
    given._use_curvature(np.diag([0.0, 0.25]))
    assert given.curvatures == pytest.approx([0.25 * np.finfo(float).eps, 0.25], rel=1e-9, abs=0)


def differences(velocity, state, step=1e-5):
    """The Jacobian of a velocity by central differences."""
    moves = step * np.eye(len(state))
    return np.array(
        [(velocity(state + move) - velocity(state - move)) / (2 * step) for move in moves]
    ).T


def test_the_jacobians_are_the_derivatives_of_the_velocities(drawn, rng):
    given, sigma = flow_module._Integration(DecomposedLoss(drawn), 1e-9), 8.0
    loss, f = given.loss, given.size
    growing = (
        sigma * loss.coordinates((np.linalg.pinv(drawn.embeddings) @ drawn.support.toarray()).T)[1]
    )
    state = np.append(rng.standard_normal(f), growing)
    free = differences(lambda at: given._free(1.0, at), state)
    assert np.allclose(
        given._free_jacobian(1.0, state), free, rtol=0, atol=1e-6 * np.abs(free).max()
    )
    given.settled = np.zeros(f)
    given._settle(sigma, growing)
    quasi_steady = differences(lambda at: given._quasi_steady(sigma, at), growing)
    held = differences(lambda at: given._free(sigma, np.append(given.settled, at))[f:], growing)
    answer = given._quasi_steady_jacobian(sigma, growing) - held
    # e^−σ of it is left out
    assert np.allclose(
        answer, quasi_steady - held, rtol=0, atol=0.01 * np.abs(quasi_steady - held).max()
    )


def test_what_the_integrator_says_is_passed_on_with_the_time_it_reached(drawn, monkeypatch):
    given_up = OptimizeResult(
        success=False, message="Required step size is too small.", t=np.array([0.5, 1.5])
    )
    monkeypatch.setattr(flow_module, "solve_ivp", lambda *given, **options: given_up)
    with pytest.raises(
        RuntimeError,
        match=(
            r"`gradient_flow` stopped at log\(1 \+ t\) = 1\.5: Required step size is too small\. "
            r"Embed"
        ),
    ):
        gradient_flow(drawn, [10.0])

    def fail(*given, **options):
        raise ValueError("array must not contain infs or NaNs.")

    monkeypatch.setattr(flow_module, "solve_ivp", fail)
    with pytest.raises(
        RuntimeError,
        match=(
            r"stopped at log\(1 \+ t\) = 0: array must not contain infs or NaNs\. Embeddings of "
            r"very"
        ),
    ):
        gradient_flow(drawn, [10.0])
