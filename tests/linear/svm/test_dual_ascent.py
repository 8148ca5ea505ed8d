"""The steps of the ascent against plain linear algebra; whole solutions are judged in
`test_svm.py`.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.linalg import helmert

from ntpcompanion.linear.separability.feasibility_search import project_signs
from ntpcompanion.linear.svm.dual_ascent import ascend, polish
from ntpcompanion.linear.svm.dual_problem import (
    HEADROOM,
    DualProblem,
    best_multiple,
    centre_,
    largest_eigenvalue,
    start,
)
from tests.linear.dual import SUPPORT, at, random_problem


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def problem(rng):
    return random_problem(rng)


def textbook_ascent(problem, steps):
    """FISTA for the dual, written down: restarts by the gradient scheme of O'Donoghue and Candès.
    Returns Γ and how often it restarts.
    """
    K, goal, L = (
        problem.gram.numpy(),
        np.where(SUPPORT, 0.0, -problem.threshold.numpy()[:, None]),
        start(problem).lipschitz,
    )
    old, ahead, momentum, restarts = np.zeros(SUPPORT.shape), np.zeros(SUPPORT.shape), 1.0, 0
    for _ in range(steps):
        new = project_signs(ahead + (goal - K @ ahead) / L, SUPPORT)
        if ((ahead - new) * (new - old)).sum() > 0:
            ahead, momentum, restarts = new, 1.0, restarts + 1
        else:
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead, momentum = new + (momentum - 1) / following * (new - old), following
        old = new
    return old, restarts


@pytest.mark.parametrize(("steps", "restarted"), [(1, False), (3, False), (12, True), (25, True)])
def test_the_ascent_is_the_textbook_one(problem, steps, restarted):
    expected, restarts = textbook_ascent(problem, steps)
    assert bool(restarts) == restarted
    found, _ = ascend(problem, start(problem), steps)
    np.testing.assert_allclose(found.gamma.numpy(), expected, rtol=0, atol=1e-12)


def test_the_step_is_shortened_where_the_last_move_was_steeper(problem):
    first = start(problem)
    assert ascend(problem, first, 1)[0].lipschitz == first.lipschitz
    assert first.lipschitz == pytest.approx(HEADROOM * largest_eigenvalue(problem.gram))
    found, _ = ascend(problem, replace(first, lipschitz=first.lipschitz / 50), 1)
    move = found.gamma.numpy()
    curvature = np.vdot(move, problem.gram.numpy() @ move) / np.vdot(move, move)
    assert found.lipschitz == pytest.approx(1.02 * curvature, rel=1e-12)


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_the_unit_of_length_does_not_matter(problem, unit):
    """Thresholds in another unit scale the dual: to the last bit, for a power of 2."""
    other = DualProblem(problem.gram, problem.support, unit * problem.threshold)
    point, scaled = start(problem), start(other)
    for step in (
        lambda p, x: ascend(p, x, 10),
        lambda p, x: (best_multiple(p, x), None),
        lambda p, x: polish(p, x, 50, close=0.0),
    ):
        (point, cost), (scaled, same_cost) = step(problem, point), step(other, scaled)
        assert torch.equal(unit * point.gamma, scaled.gamma)
        assert cost == same_cost


def dense_polish(problem, gamma):
    """The move to the maximum over the face by dense linear algebra, and how it ends: as a "full
    step", "cut off" at the boundary, or "projected".
    """
    K, goal, face = (
        problem.gram.numpy(),
        np.where(SUPPORT, 0.0, -problem.threshold.numpy()[:, None]),
        SUPPORT | (gamma < 0),
    )
    places = [np.flatnonzero(row) for row in face]
    columns = [
        np.kron(np.eye(4)[:, [j]], np.eye(5)[:, at] @ helmert(len(at)).T)
        for j, at in enumerate(places)
        if len(at) > 1
    ]
    basis = np.hstack(columns)
    image = np.kron(K, np.eye(5)) @ basis
    move = (basis @ np.linalg.solve(basis.T @ image, basis.T @ (goal - K @ gamma).ravel())).reshape(
        gamma.shape
    )

    def height(x):
        return (goal * x).sum() - 0.5 * (x * (K @ x)).sum()

    blocked = ~SUPPORT & face & (move > 0)
    full_step = min(1.0, (-gamma[blocked] / move[blocked]).min(initial=np.inf))
    for fraction in (4.0**-k for k in range(5) if 4.0**-k > full_step):
        projected = project_signs(gamma + fraction * move, SUPPORT)
        if height(projected) > height(gamma + full_step * move):
            return projected, "projected"
    return gamma + full_step * move, "full step" if full_step == 1 else "cut off"


@pytest.mark.parametrize(("dtype", "error"), [(torch.float64, 1e-10), (torch.float32, 1e-3)])
def test_polishing_goes_to_the_maximum_on_the_face_as_far_as_signs_allow(rng, dtype, error):
    ends = []
    for _ in range(60):
        rows = torch.as_tensor(rng.standard_normal((4, 6)))
        rows /= torch.linalg.norm(rows, axis=1, keepdims=True)
        problem = DualProblem(
            rows @ rows.T, torch.as_tensor(SUPPORT), torch.as_tensor(rng.uniform(0.5, 2.0, 4))
        )
        gamma = project_signs(rng.standard_normal(SUPPORT.shape) * rng.uniform(0, 3), SUPPORT)
        expected, end = dense_polish(problem, gamma)
        same = DualProblem(problem.gram.to(dtype), problem.support, problem.threshold.to(dtype))
        first = at(same, torch.as_tensor(gamma, dtype=dtype))
        found = polish(same, first, 200, close=0.0)[0].gamma.numpy()
        np.testing.assert_allclose(found, expected, rtol=0, atol=error * np.abs(expected).max())
        assert found[~SUPPORT].max() <= 0, "not even by a rounding"
        ends.append(end)
    assert {"full step", "cut off", "projected"} <= set(ends)


def with_residual(problem, size, factor):
    """A point of that size whose margins are off by `factor` at most, as far as `polish` can see,
    on a full face.
    """
    gamma = torch.where(problem.support, size, -size / 2).double()
    off = centre_(
        torch.tensor(np.random.default_rng(1).standard_normal(SUPPORT.shape)),
        torch.ones_like(gamma),
    )
    image = problem.gradient(torch.zeros_like(gamma)) - off * (factor / off.abs().max())
    return replace(start(problem), gamma=gamma, gram_gamma=image)


@pytest.mark.parametrize(("share", "ends"), [(0.9, True), (1.1, False)])
def test_polishing_ends_where_margins_are_close_enough_or_off_by_noise(problem, share, ends):
    close = 1e-3 * float(problem.threshold.min())
    _, info = polish(problem, with_residual(problem, 1.0, share * close), 200, close=1e-3)
    assert (info.products == 0) == ends
    noise = 10 * np.finfo(float).eps * start(problem).lipschitz * 1000
    _, info = polish(problem, with_residual(problem, 1000.0, share * noise), 200, close=0.0)
    assert (info.products == 0) == ends


def test_along_a_ray_it_goes_as_far_as_it_is_long_and_one_more():
    """Γ = a (1, −1; −1, 1) has KΓ = 0 and length 2a, and the gradient has its direction: a becomes
    a + (1 + 2a) / 2.
    """
    support, ray = (
        torch.tensor([[True, False], [False, True]]),
        torch.tensor([[1.0, -1.0], [-1.0, 1.0]], dtype=torch.float64),
    )
    problem = DualProblem(
        torch.ones(2, 2, dtype=torch.float64), support, torch.full((2,), 4.0, dtype=torch.float64)
    )
    found, info = polish(problem, at(problem, 3 * ray), 10, close=0.0)
    torch.testing.assert_close(found.gamma, 6.5 * ray)
    assert info.products == 2  # one shows that it is a ray
    assert best_multiple(problem, found) is found, "the highest multiple is infinite"
