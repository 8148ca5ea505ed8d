"""The pieces of the ascent against plain linear algebra; whole solutions are judged in `test_svm.py`."""

import itertools

import numpy as np
import pytest
import torch

from ntpcompanion.linear import gram
from ntpcompanion.linear.gram import GramDual, Point, centre_, largest_eigenvalue
from ntpcompanion.linear.search import project_signs

SUPPORT = np.array([[1, 1, 0, 0, 0], [0, 1, 0, 1, 1], [0, 0, 1, 0, 0], [1, 1, 1, 1, 1]], dtype=bool)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def problem(rng):
    rows = rng.standard_normal((4, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return GramDual(torch.as_tensor(rows @ rows.T), torch.as_tensor(SUPPORT), torch.as_tensor(rng.uniform(0.5, 2.0, 4)))


def at(problem, gamma):
    gamma = torch.as_tensor(gamma)
    return Point(gamma, problem.gram @ gamma)


def feasible(gamma):
    return float(gamma.sum(1).abs().max()) < 1e-12 and float(gamma[~torch.as_tensor(SUPPORT)].max()) <= 0


def test_the_projection_is_that_of_the_search_wherever_it_starts(problem, rng):
    for size in (1e-3, 1.0, 1e6, 1.0):  # the level of the last projection is where the next begins
        values = size * rng.standard_normal(SUPPORT.shape)
        expected = project_signs(values, SUPPORT)
        found = problem.project_(torch.tensor(values), out=torch.empty(SUPPORT.shape, dtype=torch.float64))
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-12 * size)


def test_height_and_gradient_are_those_of_the_dual(problem, rng):
    gamma = rng.standard_normal(SUPPORT.shape)
    gamma = torch.as_tensor(gamma - gamma.mean(axis=1, keepdims=True)).requires_grad_()
    goal = torch.where(torch.as_tensor(SUPPORT), 0.0, -problem.threshold[:, None])
    height = (goal * gamma).sum() - 0.5 * torch.trace(gamma.T @ problem.gram @ gamma)
    height.backward()
    point = at(problem, gamma.detach())
    assert problem.height(point) == pytest.approx(height.item(), rel=1e-12)
    torch.testing.assert_close(problem.uphill(point.gram_gamma), gamma.grad)
    assert point.square == pytest.approx(torch.trace(point.gamma.T @ problem.gram @ point.gamma).item(), rel=1e-12)


def test_ascent_climbs_within_the_cone_and_counts_its_products(problem):
    point, heights = problem.start(), [0.0]
    for _ in range(5):
        point = problem.ascend(point, 20)
        assert feasible(point.gamma)
        torch.testing.assert_close(point.gram_gamma, problem.gram @ point.gamma)
        heights.append(problem.height(point))
    assert all(after >= before * (1 - 1e-14) for before, after in itertools.pairwise(heights))
    assert problem.products == 100
    assert heights[-1] == pytest.approx(heights[-2], rel=1e-6)


def test_a_step_that_is_too_long_is_noticed(problem):
    problem.lipschitz /= 50
    point = problem.start()
    for _ in range(20):
        point = problem.ascend(point, 20)
    assert problem.lipschitz >= float(torch.linalg.eigvalsh(problem.gram)[-1]) * 0.9
    assert problem.height(problem.ascend(point, 200)) > 0


def test_polishing_on_the_right_face_ends_at_the_solution(problem):
    rough = problem.ascend(problem.start(), 60)
    fine = problem.polish(rough, 200, close=0.0)
    assert feasible(fine.gamma)
    face = torch.as_tensor(SUPPORT) | (fine.gamma < 0)
    rest = centre_(problem.uphill(fine.gram_gamma), face.double())
    assert float(rest.abs().max()) < 1e-12
    assert problem.height(fine) >= problem.height(rough)


def test_polishing_from_a_wrong_face_stays_feasible_and_does_not_fall(problem, rng):
    for _ in range(20):
        point = at(problem, project_signs(rng.standard_normal(SUPPORT.shape), SUPPORT))
        better = problem.polish(point, 50, close=0.0)
        assert feasible(better.gamma)
        assert problem.height(better) >= problem.height(point) - 1e-12
        torch.testing.assert_close(better.gram_gamma, problem.gram @ better.gamma)


def test_polishing_ends_when_it_is_close_enough(problem):
    point = problem.ascend(problem.start(), 60)
    problem.products = 0
    problem.polish(point, 200, close=1e6)
    assert problem.products == 0


def test_a_ray_is_followed(rng):
    """The same context with two different next words: the dual grows without bound along what cancels in K."""
    support = torch.tensor([[True, False], [False, True]])
    problem = GramDual(torch.ones(2, 2, dtype=torch.float64), support, torch.ones(2, dtype=torch.float64))
    point = problem.polish(problem.ascend(problem.start(), 3), 10, close=0.0)
    assert problem.height(problem.polish(point, 10, close=0.0)) > problem.height(point)
    assert float((problem.gram @ point.gamma).abs().max()) < 1e-10


def test_the_highest_multiple(problem, rng):
    point = at(problem, project_signs(rng.standard_normal(SUPPORT.shape), SUPPORT))
    best = problem.scaled(point)
    heights = [problem.height(Point(t * best.gamma, t * best.gram_gamma)) for t in (0.99, 1.0, 1.01)]
    assert max(heights) == heights[1]
    assert problem.scaled(problem.start()).square == 0


@pytest.mark.parametrize("blocks", [0, 4])
def test_what_is_taken_away_unties_exactly(problem, rng, monkeypatch, blocks):
    monkeypatch.setattr(gram, "BLOCKS", blocks)  # 0: there is no memory for blocks
    gamma = torch.as_tensor(rng.standard_normal(SUPPORT.shape))
    face = torch.as_tensor(SUPPORT)
    ties = centre_(problem.gram @ gamma, face.double())
    taken = problem.untied(ties, 200)
    assert not taken[~face].any()
    assert float(taken.sum(1).abs().max()) < 1e-12
    assert float(centre_(problem.gram @ (gamma - taken), face.double()).abs().max()) < 1e-12


def test_the_largest_eigenvalue_from_below(problem):
    exact = float(torch.linalg.eigvalsh(problem.gram)[-1])
    assert 0.97 * exact < largest_eigenvalue(problem.gram) <= exact * (1 + 1e-12)
