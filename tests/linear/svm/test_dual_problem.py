"""The dual problem and the projection onto its constraints against plain linear algebra."""

import numpy as np
import pytest
import torch

from ntpcompanion.linear.separability.feasibility_search import project_signs
from ntpcompanion.linear.svm import dual_problem as gram
from ntpcompanion.linear.svm.dual_problem import (
    DualProblem,
    best_multiple,
    centre_,
    largest_eigenvalue,
    objective,
    project_,
    start,
    support_product,
    tie_correction,
)
from tests.linear.dual import SUPPORT, at, random_problem


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def problem(rng):
    return random_problem(rng)


def test_the_projection_is_that_of_the_search_wherever_it_starts(problem, rng):
    # the level of the last projection is where the next begins
    level = torch.zeros(4, dtype=torch.float64)
    for size in (1e-9, 1e-3, 1.0, 1e6, 1.0):
        values = size * rng.standard_normal(SUPPORT.shape)
        expected = project_signs(values, SUPPORT)
        found = torch.empty(SUPPORT.shape, dtype=torch.float64)
        level = project_(problem, torch.tensor(values), level, out=found)
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-12 * size)


@pytest.fixture
def looks(monkeypatch):
    """An entry for each Newton step of a projection."""
    found, below = [], torch.sub
    monkeypatch.setattr(torch, "sub", lambda *x, **to: found.append(1) or below(*x, **to))
    return found


@pytest.mark.parametrize("shape", [(4, 6), (50, 400)])
def test_in_single_precision_it_ends_as_soon_and_at_the_same_place(rng, looks, shape):
    support = np.arange(shape[1]) < rng.integers(1, shape[1], shape[0])[:, None]
    values = rng.standard_normal(shape)
    for dtype, error in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        zero = torch.zeros(shape[0], dtype=dtype)
        problem = DualProblem(torch.eye(shape[0], dtype=dtype), torch.tensor(support), zero)
        found = torch.empty(shape, dtype=dtype)
        project_(problem, torch.tensor(values, dtype=dtype), zero, out=found)
        np.testing.assert_allclose(found.numpy(), project_signs(values, support), atol=error)
    # a few Newton steps each, not as many as there may be
    assert len(looks) <= 16


def test_height_and_gradient_are_those_of_the_dual(problem, rng):
    gamma = rng.standard_normal(SUPPORT.shape)
    gamma = torch.as_tensor(gamma - gamma.mean(axis=1, keepdims=True)).requires_grad_()
    goal = torch.where(torch.as_tensor(SUPPORT), 0.0, -problem.threshold[:, None])
    height = (goal * gamma).sum() - 0.5 * torch.trace(gamma.T @ problem.gram @ gamma)
    height.backward()
    point = at(problem, gamma.detach())
    assert objective(problem, point) == pytest.approx(height.item(), rel=1e-12)
    torch.testing.assert_close(problem.gradient(point.gram_gamma), gamma.grad)
    assert point.square == pytest.approx(
        torch.trace(point.gamma.T @ problem.gram @ point.gamma).item(), rel=1e-12
    )


def test_the_highest_multiple(problem, rng):
    point = at(problem, project_signs(rng.standard_normal(SUPPORT.shape), SUPPORT))
    best = best_multiple(problem, point)
    heights = [objective(problem, at(problem, t * best.gamma)) for t in (0.99, 1.0, 1.01)]
    assert max(heights) == heights[1]
    assert best_multiple(problem, start(problem)).square == 0
    tied = torch.zeros_like(point.gamma)
    # only a tie: it has length, but no multiple of it rises
    tied[0, :2] = torch.tensor([1.0, -1.0])
    assert best_multiple(problem, at(problem, tied)).gamma is tied


@pytest.mark.parametrize("blocks", [0, 4])
def test_what_is_taken_away_unties_exactly(problem, rng, monkeypatch, blocks):
    monkeypatch.setattr(gram, "BLOCKS", blocks)  # 0: there is no memory for blocks
    gamma = torch.as_tensor(rng.standard_normal(SUPPORT.shape))
    face = torch.as_tensor(SUPPORT)
    ties = centre_(problem.gram @ gamma, face.double())
    taken = tie_correction(problem, ties, 200)
    assert not taken[~face].any()
    assert float(taken.sum(1).abs().max()) < 1e-12
    assert float(centre_(problem.gram @ (gamma - taken), face.double()).abs().max()) < 1e-12


def test_what_the_rows_of_ties_sum_to_is_left_alone(problem, rng):
    """Rounded logits minus their mean do not quite sum to zero. No Δ reaches such a sum, and
    conjugate gradients that are asked to blow it up.
    """
    face = torch.as_tensor(SUPPORT).double()
    ties = centre_(torch.as_tensor(rng.standard_normal(SUPPORT.shape)), face)
    rounded = ties + 1e-3 * face
    taken, expected = (tie_correction(problem, each, 200) for each in (rounded, ties))
    torch.testing.assert_close(taken, expected, rtol=1e-10, atol=1e-12)
    assert torch.equal(rounded, ties + 1e-3 * face)  # what is given stays as it is


def test_what_no_untying_reaches_is_left():
    """Twins with all tokens on both supports: the opposite ties of the two cancel in K."""
    problem = DualProblem(
        torch.ones(2, 2, dtype=torch.float64),
        torch.ones(2, 2, dtype=torch.bool),
        torch.ones(2, dtype=torch.float64),
    )
    assert not tie_correction(
        problem, torch.tensor([[1.0, -1.0], [-1.0, 1.0]], dtype=torch.float64), 5
    ).any()


@pytest.mark.parametrize(("vocab_size", "fit"), [(7, True), (8, False)])
def test_blocks_are_made_where_they_fit_into_four_times_the_gram_matrix(problem, vocab_size, fit):
    """V · n² numbers for the n = 3 contexts of the most frequent token, against 4 · m² with m = 4:
    63 fit into 64, 72 do not.
    """
    support = np.arange(4)[:, None] < np.resize([3, 1], vocab_size)
    wide = DualProblem(problem.gram, torch.as_tensor(support), problem.threshold)
    assert (support_product(wide) is not None) == fit


def test_untying_ends_after_as_many_products_as_unknowns_in_any_unit(problem, rng, monkeypatch):
    ties, products, product = (
        centre_(torch.as_tensor(rng.standard_normal(SUPPORT.shape)), problem.support.double()),
        [],
        torch.mm,
    )
    monkeypatch.setattr(gram, "BLOCKS", 0)
    monkeypatch.setattr(torch, "mm", lambda *given: products.append(1) or product(*given))
    plain = tie_correction(problem, ties, 200)
    assert len(products) <= 7 + 2  # supports of 2, 3, 1 and 5 tokens, and what rounding costs
    for unit in (2.0**-40, 2.0**40):
        assert torch.equal(tie_correction(problem, unit * ties, 200), unit * plain)


def test_the_largest_eigenvalue_from_below(problem):
    exact = float(torch.linalg.eigvalsh(problem.gram)[-1])
    assert 0.97 * exact < largest_eigenvalue(problem.gram) <= exact * (1 + 1e-12)
