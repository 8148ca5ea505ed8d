"""The dual on chosen pairs: its gradient, and its maximum against the dense solver."""

import numpy as np
import pytest

from ntpcompanion.linear import solve_ntp_svm
from ntpcompanion.linear.separability.ties import unit_rows
from ntpcompanion.linear.svm.pair_ascent import Restricted, State, ascend, best_multiple, polish
from ntpcompanion.linear.svm.pairs import Pairs
from ntpcompanion.linear.tables.large_tables import planted_table
from ntpcompanion.randomness import stream


@pytest.fixture
def case():
    table = planted_table(30, 9, 2, 10, stream(0, "pair ascent"))
    rows, lengths = unit_rows(table.embeddings)
    pairs = Pairs(table.support, *np.nonzero(~table.support.toarray()))
    problem = Restricted(pairs, rows, rows.astype(np.float32), 1 / lengths)
    zero = np.zeros(len(pairs))
    return table, problem, State(zero, zero, np.zeros(len(rows)), 1.0, 0)


def at(problem, gamma, start):
    product = problem.pairs.product(gamma, problem.rows)
    return State(gamma, product, start.level, start.lipschitz, 0)


def test_the_gradient_is_that_of_central_differences(case):
    _, problem, start = case
    rng = stream(0, "differences")
    gamma = -np.abs(rng.standard_normal(len(problem.pairs)))
    step = 1e-6 * rng.standard_normal(gamma.size)
    ends = [problem.objective(at(problem, gamma + sign * step, start)) for sign in (1, -1)]
    slope = problem.gradient(at(problem, gamma, start).product) @ step
    assert ends[0] - ends[1] == pytest.approx(2 * slope, rel=1e-6)


def test_the_climbs_reach_half_the_squared_norm_of_the_dense_solution(case):
    table, problem, state = case
    half = np.linalg.norm(solve_ntp_svm(table, tol=1e-8).weights) ** 2 / 2
    reached = [0.0]
    for _ in range(6):
        state = best_multiple(problem, ascend(problem, state, 50))
        state = best_multiple(problem, polish(problem, state, 50))
        reached.append(problem.objective(state))
        assert np.abs(problem.pairs.sums(state.gamma)).max() < 1e-9 * np.abs(state.gamma).max()
        assert state.gamma[problem.pairs.off].max() <= 0
    assert np.diff(reached).min() >= -1e-9 * half  # up to rounding
    assert reached[-1] == pytest.approx(half, rel=1e-5)
    assert reached[-1] <= half * (1 + 1e-7)  # weak duality


def test_no_multiple_of_zero_is_better(case):
    _, problem, start = case
    assert best_multiple(problem, start) is start
