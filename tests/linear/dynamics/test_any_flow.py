"""Gradient flow and the regularization path of any table, against solvers that know its own loss
only: a differential equation in t, BFGS, and an interior-point method.
"""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

from ntpcompanion.linear import (
    check_compatibility,
    check_separability,
    cosine_distance,
    gradient_flow,
    regularization_path,
    solve_ntp_svm,
)
from ntpcompanion.linear.dynamics import any_flow
from tests.linear.separability.test_implied_table import draw

NEITHER = [10, 29, 32, 37, 41, 42, 59, 61, 105, 124, 128, 138, 141, 154, 157, 173, 196, 197]
NEITHER += [217, 224]
MINIMIZED = [0, 1, 3, 4, 7, 21]
TIMES = np.array([0.1, 1.0, 10.0, 100.0])


def plain_flow(table, start):
    solved = solve_ivp(
        lambda t, w: -table.gradient(w.reshape(start.shape)).ravel(),
        (0, TIMES[-1]),
        start.ravel(),
        method="LSODA",
        t_eval=TIMES,
        rtol=1e-10,
        atol=1e-11,
    )
    return solved.y.T.reshape(-1, *start.shape)


def started(seed):
    table = draw(seed)
    shape = table.vocab_size, table.dim
    return table, np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("seed", NEITHER)
def test_neither_compatible_nor_separable(seed):
    table, start = started(seed)
    assert check_compatibility(table).verdict.name == "NOT_COMPATIBLE"
    assert check_separability(table).verdict.name == "NOT_SEPARABLE"
    flow = gradient_flow(table, [*np.log(TIMES), 50.0, 1e4], start=start)
    assert flow.implied.case.name == "IMPLIED_TABLE"
    expected = plain_flow(table, start)
    assert np.abs(flow.weights[:4] - expected).max() < 1e-4
    excess = [table.cross_entropy(W) - flow.implied.entropy for W in expected]
    assert flow.log_excess[:4] == pytest.approx(np.log(excess), abs=1e-4)
    direction = solve_ntp_svm(flow.implied.table, tol=1e-9).weights
    assert cosine_distance(flow.weights[-1:] - flow.weights[-2:-1], direction) < 1e-6


@pytest.mark.parametrize("seed", MINIMIZED)
def test_a_flow_with_a_minimizer_ends_at_the_nearest_one(seed):
    table, start = started(seed)
    flow = gradient_flow(table, [*np.log(TIMES), 20.0, 1e6], start=start)
    assert flow.implied.case.name == "MINIMIZER"
    assert np.abs(flow.weights[:4] - plain_flow(table, start)).max() < 1e-4
    ends = minimize(
        lambda w: table.cross_entropy(w.reshape(start.shape)),
        start.ravel(),
        jac=lambda w: table.gradient(w.reshape(start.shape)).ravel(),
        options={"gtol": 1e-11},
    ).x.reshape(start.shape)  # its steps, too, lie in the span of gradients
    assert flow.weights[-2:] == pytest.approx(np.stack([ends, ends]), abs=2e-5)
    assert flow.finite_error[-2:].tolist() == [0, 0]
    assert flow.log_excess[-2:].tolist() == [-np.inf, -np.inf]
    again = gradient_flow(table, [0.0], start=flow.weights[-1])
    assert again.weights[0] == pytest.approx(flow.weights[-1], abs=1e-10)


@pytest.mark.parametrize("seed", [*NEITHER[:4], *MINIMIZED])
def test_the_path_is_that_of_a_general_solver(seed):
    table = draw(seed)
    path = regularization_path(table, [0.2, 1.0, 3.0, 40.0])
    shortest = np.linalg.norm(path.implied.finite_part) if seed in MINIMIZED else np.inf
    W, B = cp.Variable((table.vocab_size, table.dim)), cp.Parameter(nonneg=True)
    logits = table.embeddings @ W.T
    losses = cp.log_sum_exp(logits, axis=1) - cp.sum(
        cp.multiply(table.distributions.toarray(), logits), axis=1
    )
    problem = cp.Problem(cp.Minimize(table.weight @ losses), [cp.norm(W, "fro") <= B])
    for radius, weights, log_excess in zip(path.radii, path.weights, path.log_excess, strict=True):
        B.value = radius
        problem.solve(solver=cp.CLARABEL)
        assert np.linalg.norm(weights) == pytest.approx(min(radius, shortest), rel=1e-9)
        assert table.cross_entropy(weights) == pytest.approx(problem.value, abs=1e-7)
        assert path.implied.entropy + np.exp(log_excess) == pytest.approx(problem.value, abs=1e-7)
    assert (path.gap < 1e-6).all()


def test_probabilities_below_the_rounding_of_one():
    """The implied table has an entry of 1e-17 in a context, far from which the flow begins."""
    table = draw(15)
    flow = gradient_flow(table, np.log(TIMES))
    assert 0 < flow.implied.next_token[flow.implied.support.mask].min() < 1e-16
    start = np.zeros(flow.weights.shape[1:])
    assert np.abs(flow.weights - plain_flow(table, start)).max() < 1e-4


def test_tables_that_reach_their_entropy_and_what_an_integrator_says(monkeypatch):
    table = draw(11)
    assert gradient_flow(table, [0.0]).implied.case.name == "ENTROPY"
    assert gradient_flow(table, [0.0]).implied.table is table
    given_up = SimpleNamespace(success=False, message="Too small.", t=[0.5])
    monkeypatch.setattr(any_flow, "solve_ivp", lambda *_, **__: given_up)
    with pytest.raises(RuntimeError, match=r"minimizer of the loss, .* \+ t\) = 0\.5: Too small"):
        gradient_flow(draw(0), [3.0])
