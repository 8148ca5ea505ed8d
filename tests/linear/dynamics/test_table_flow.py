"""Gradient flow and the regularization path of any table, against solvers that know its own loss
only: a differential equation in t, and an interior-point method.
"""

import cvxpy as cp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ntpcompanion.linear import (
    check_compatibility,
    check_separability,
    cosine_distance,
    gradient_flow,
    regularization_path,
    solve_ntp_svm,
)
from tests.linear.separability.test_implied_table import draw
from tests.marks import rest_slow

NEITHER = [10, 29, 32, 37, 41, 42, 59, 61, 105, 124, 128, 138, 141, 154, 157, 173, 196, 197]
NEITHER += [217, 224]
MINIMIZED = [0, 1, 3, 4, 7, 21]


def both(seed, times):
    """Our flow, and the plain differential equation in t, from a random start."""
    table = draw(seed)
    start = np.random.default_rng(seed).standard_normal((table.vocab_size, table.dim))
    plain = solve_ivp(
        lambda t, w: -table.gradient(w.reshape(start.shape)).ravel(),
        *((0, times[-1]), start.ravel(), "LSODA", times),
        **{"rtol": 1e-10, "atol": 1e-11},
    )
    flow = gradient_flow(table, [*np.log(times), 50.0, 1e4], start=start)
    plain = plain.y.T.reshape(-1, *start.shape)
    assert np.abs(flow.weights[:-2] - plain).max() < 1e-4
    return table, flow, plain


@pytest.mark.parametrize("seed", rest_slow(NEITHER, NEITHER[:6]))
def test_neither_compatible_nor_separable(seed):
    table, flow, plain = both(seed, [0.1, 1.0, 10.0, 100.0])
    assert check_compatibility(table).verdict.name == "NOT_COMPATIBLE"
    assert check_separability(table).verdict.name == "NOT_SEPARABLE"
    assert flow.implied.case.name == "IMPLIED_TABLE"
    excess = [table.cross_entropy(W) - flow.implied.entropy for W in plain]
    assert flow.log_excess[:4] == pytest.approx(np.log(excess), abs=1e-4)
    direction = solve_ntp_svm(flow.implied.table, tol=1e-9).weights
    assert cosine_distance(flow.weights[-1:] - flow.weights[-2:-1], direction) < 1e-6


@pytest.mark.parametrize("seed", MINIMIZED)
def test_a_flow_with_a_minimizer_ends_at_the_nearest_one(seed):
    """Where the gradient is zero, moved in the span of gradients only."""
    table, flow, plain = both(seed, [0.1, 1.0, 100.0])
    assert flow.implied.case.name == "MINIMIZER"
    assert np.abs(table.gradient(flow.weights[-1])).max() < 1e-10
    moved = flow.weights[-1] - plain[0]
    assert np.abs(moved - moved @ np.linalg.pinv(table.embeddings) @ table.embeddings).max() < 1e-5
    assert np.abs(moved.sum(axis=0)).max() < 1e-5
    assert (flow.finite_error[-1], flow.log_excess[-1]) == (0, -np.inf)


@pytest.mark.parametrize("seed", [*NEITHER[:4], *MINIMIZED])
def test_the_path_is_that_of_a_general_solver(seed):
    table = draw(seed)
    path = regularization_path(table, [0.2, 1.0, 3.0, 40.0])
    shortest = np.linalg.norm(path.implied.finite_part) if seed in MINIMIZED else np.inf
    W, B = cp.Variable((table.vocab_size, table.dim)), cp.Parameter(nonneg=True)
    logits, p = table.embeddings @ W.T, table.distributions.toarray()
    losses = cp.log_sum_exp(logits, axis=1) - cp.sum(cp.multiply(p, logits), axis=1)
    problem = cp.Problem(cp.Minimize(table.weight @ losses), [cp.norm(W, "fro") <= B])
    for radius, weights, log_excess in zip(path.radii, path.weights, path.log_excess, strict=True):
        B.value = radius
        least = problem.solve(solver=cp.CLARABEL)
        assert np.linalg.norm(weights) == pytest.approx(min(radius, shortest), rel=1e-9)
        assert table.cross_entropy(weights) == pytest.approx(least, abs=1e-7)
        assert path.implied.entropy + np.exp(log_excess) == pytest.approx(least, abs=1e-7)
    assert (path.gap < 1e-6).all()


def test_probabilities_below_the_rounding_of_one():
    """The implied table has an entry of 1e-17 in a context, far from which the flow begins."""
    _, flow, _ = both(15, [0.1, 1.0, 10.0, 100.0])
    assert 0 < flow.implied.next_token[flow.implied.support.mask].min() < 1e-16
