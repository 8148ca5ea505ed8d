"""The pieces of the ascent against plain linear algebra; whole solutions are judged in
`test_svm.py`.
"""

import itertools

import numpy as np
import pytest
import torch
from scipy.linalg import helmert

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
    return GramDual(
        torch.as_tensor(rows @ rows.T),
        torch.as_tensor(SUPPORT),
        torch.as_tensor(rng.uniform(0.5, 2.0, 4)),
    )


def at(problem, gamma):
    gamma = torch.as_tensor(gamma)
    return Point(gamma, problem.gram @ gamma)


def feasible(gamma):
    return (
        float(gamma.sum(1).abs().max()) < 1e-12
        and float(gamma[~torch.as_tensor(SUPPORT)].max()) <= 0
    )


def test_the_projection_is_that_of_the_search_wherever_it_starts(problem, rng):
    # the level of the last projection is where the next begins
    for size in (1e-9, 1e-3, 1.0, 1e6, 1.0):
        values = size * rng.standard_normal(SUPPORT.shape)
        expected = project_signs(values, SUPPORT)
        found = problem.project_(
            torch.tensor(values), out=torch.empty(SUPPORT.shape, dtype=torch.float64)
        )
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-12 * size)


def test_a_projection_that_is_repeated_ends_at_the_second_look(problem, rng, monkeypatch):
    values, looks, count = (
        torch.as_tensor(rng.standard_normal(SUPPORT.shape)),
        [],
        torch.count_nonzero,
    )
    first = problem.project_(values.clone(), out=torch.empty_like(values))
    monkeypatch.setattr(torch, "count_nonzero", lambda *given: looks.append(1) or count(*given))
    second = problem.project_(values.clone(), out=torch.empty_like(values))
    torch.testing.assert_close(first, second)
    assert len(looks) == 2


def test_height_and_gradient_are_those_of_the_dual(problem, rng):
    gamma = rng.standard_normal(SUPPORT.shape)
    gamma = torch.as_tensor(gamma - gamma.mean(axis=1, keepdims=True)).requires_grad_()
    goal = torch.where(torch.as_tensor(SUPPORT), 0.0, -problem.threshold[:, None])
    height = (goal * gamma).sum() - 0.5 * torch.trace(gamma.T @ problem.gram @ gamma)
    height.backward()
    point = at(problem, gamma.detach())
    assert problem.height(point) == pytest.approx(height.item(), rel=1e-12)
    torch.testing.assert_close(problem.uphill(point.gram_gamma), gamma.grad)
    assert point.square == pytest.approx(
        torch.trace(point.gamma.T @ problem.gram @ point.gamma).item(), rel=1e-12
    )


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


def textbook_ascent(problem, steps):
    """FISTA for the dual, written down: restarts by the gradient scheme of O'Donoghue and Candès.
    Returns Γ and how often it restarts.
    """
    K, goal, L = (
        problem.gram.numpy(),
        np.where(SUPPORT, 0.0, -problem.threshold.numpy()[:, None]),
        problem.lipschitz,
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
    np.testing.assert_allclose(
        problem.ascend(problem.start(), steps).gamma.numpy(), expected, rtol=0, atol=1e-12
    )


def test_the_step_is_shortened_where_the_last_move_was_steeper(problem):
    before = problem.lipschitz
    problem.ascend(problem.start(), 1)
    assert problem.lipschitz == before
    problem.lipschitz = before / 50
    move = problem.ascend(problem.start(), 1).gamma.numpy()
    curvature = np.vdot(move, problem.gram.numpy() @ move) / np.vdot(move, move)
    assert problem.lipschitz == pytest.approx(1.02 * curvature, rel=1e-12)


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_the_unit_of_length_does_not_matter(problem, unit):
    """Thresholds in another unit scale the dual: to the last bit, for a power of 2."""
    other = GramDual(problem.gram, problem.support, unit * problem.threshold)
    point, scaled = problem.start(), other.start()
    for step in (
        lambda p, x: p.ascend(x, 10),
        lambda p, x: p.scaled(x),
        lambda p, x: p.polish(x, 50, close=0.0),
    ):
        point, scaled = step(problem, point), step(other, scaled)
        assert torch.equal(unit * point.gamma, scaled.gamma)
    assert problem.products == other.products


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


def bent_path(problem, gamma):
    """The way to the maximum over the face by dense linear algebra, and where it ends: "straight",
    "cut off" or "bent".
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
    room = min(1.0, (-gamma[blocked] / move[blocked]).min(initial=np.inf))
    for share in (4.0**-k for k in range(5) if 4.0**-k > room):
        bent = project_signs(gamma + share * move, SUPPORT)
        if height(bent) > height(gamma + room * move):
            return bent, "bent"
    return gamma + room * move, "straight" if room == 1 else "cut off"


@pytest.mark.parametrize(("dtype", "error"), [(torch.float64, 1e-10), (torch.float32, 1e-3)])
def test_polishing_goes_to_the_maximum_on_the_face_as_far_as_signs_allow(rng, dtype, error):
    ways = []
    for _ in range(60):
        rows = torch.as_tensor(rng.standard_normal((4, 6)))
        rows /= torch.linalg.norm(rows, axis=1, keepdims=True)
        problem = GramDual(
            rows @ rows.T, torch.as_tensor(SUPPORT), torch.as_tensor(rng.uniform(0.5, 2.0, 4))
        )
        gamma = project_signs(rng.standard_normal(SUPPORT.shape) * rng.uniform(0, 3), SUPPORT)
        expected, way = bent_path(problem, gamma)
        same = GramDual(problem.gram.to(dtype), problem.support, problem.threshold.to(dtype))
        found = same.polish(
            at(same, torch.as_tensor(gamma, dtype=dtype)), 200, close=0.0
        ).gamma.numpy()
        np.testing.assert_allclose(found, expected, rtol=0, atol=error * np.abs(expected).max())
        assert found[~SUPPORT].max() <= 0, "not even by a rounding"
        ways.append(way)
    assert {"straight", "cut off", "bent"} <= set(ways)


def test_polishing_from_a_wrong_face_stays_feasible_and_does_not_fall(problem, rng):
    for _ in range(20):
        point = at(problem, project_signs(rng.standard_normal(SUPPORT.shape), SUPPORT))
        better = problem.polish(point, 50, close=0.0)
        assert feasible(better.gamma)
        assert problem.height(better) >= problem.height(point) - 1e-12
        torch.testing.assert_close(better.gram_gamma, problem.gram @ better.gamma)


def with_residual(problem, size, factor):
    """A point of that size whose margins are off by `factor` at most, as far as `polish` can see,
    on a full face.
    """
    gamma = torch.where(problem.support, size, -size / 2)
    off = centre_(
        torch.tensor(np.random.default_rng(1).standard_normal(SUPPORT.shape)),
        torch.ones_like(gamma),
    )
    return Point(gamma, problem.uphill(torch.zeros_like(gamma)) - off * (factor / off.abs().max()))


@pytest.mark.parametrize(("share", "ends"), [(0.9, True), (1.1, False)])
def test_polishing_ends_where_margins_are_close_enough_or_off_by_noise(problem, share, ends):
    close = 1e-3 * float(problem.threshold.min())
    problem.polish(with_residual(problem, 1.0, share * close), 200, close=1e-3)
    assert (problem.products == 0) == ends
    noise, problem.products = 10 * np.finfo(float).eps * problem.lipschitz * 1000, 0
    problem.polish(with_residual(problem, 1000.0, share * noise), 200, close=0.0)
    assert (problem.products == 0) == ends


def test_a_ray_is_followed(rng):
    """The same context with two different next words: the dual grows without bound along what
    cancels in K.
    """
    support = torch.tensor([[True, False], [False, True]])
    problem = GramDual(
        torch.ones(2, 2, dtype=torch.float64), support, torch.ones(2, dtype=torch.float64)
    )
    point = problem.polish(problem.ascend(problem.start(), 3), 10, close=0.0)
    assert problem.height(problem.polish(point, 10, close=0.0)) > problem.height(point)
    assert float((problem.gram @ point.gamma).abs().max()) < 1e-10


def test_along_a_ray_it_goes_as_far_as_it_is_long_and_one_more():
    """Γ = a (1, −1; −1, 1) has KΓ = 0 and length 2a, and the gradient has its direction: a becomes
    a + (1 + 2a) / 2.
    """
    support, ray = (
        torch.tensor([[True, False], [False, True]]),
        torch.tensor([[1.0, -1.0], [-1.0, 1.0]], dtype=torch.float64),
    )
    problem = GramDual(
        torch.ones(2, 2, dtype=torch.float64), support, torch.full((2,), 4.0, dtype=torch.float64)
    )
    found = problem.polish(at(problem, 3 * ray), 10, close=0.0)
    torch.testing.assert_close(found.gamma, 6.5 * ray)
    assert problem.products == 2  # one shows that it is a ray
    assert problem.scaled(found) is found, "the highest multiple is infinite"


def test_the_highest_multiple(problem, rng):
    point = at(problem, project_signs(rng.standard_normal(SUPPORT.shape), SUPPORT))
    best = problem.scaled(point)
    heights = [
        problem.height(Point(t * best.gamma, t * best.gram_gamma)) for t in (0.99, 1.0, 1.01)
    ]
    assert max(heights) == heights[1]
    assert problem.scaled(problem.start()).square == 0
    tied = torch.zeros_like(point.gamma)
    # only a tie: it has length, but no multiple of it rises
    tied[0, :2] = torch.tensor([1.0, -1.0])
    assert problem.scaled(at(problem, tied)).gamma is tied


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


def test_what_no_untying_reaches_is_left():
    """Twins with all tokens on both supports: the opposite ties of the two cancel in K."""
    problem = GramDual(
        torch.ones(2, 2, dtype=torch.float64),
        torch.ones(2, 2, dtype=torch.bool),
        torch.ones(2, dtype=torch.float64),
    )
    assert not problem.untied(
        torch.tensor([[1.0, -1.0], [-1.0, 1.0]], dtype=torch.float64), 5
    ).any()


@pytest.mark.parametrize(("vocab_size", "fit"), [(7, True), (8, False)])
def test_blocks_are_made_where_they_fit_into_four_times_the_gram_matrix(problem, vocab_size, fit):
    """V · n² numbers for the n = 3 contexts of the most frequent token, against 4 · m² with m = 4:
    63 fit into 64, 72 do not.
    """
    support = np.arange(4)[:, None] < np.resize([3, 1], vocab_size)
    assert (
        GramDual(problem.gram, torch.as_tensor(support), problem.threshold)._blocks() is not None
    ) == fit


def test_untying_ends_after_as_many_products_as_unknowns_in_any_unit(problem, rng, monkeypatch):
    ties, products, product = (
        centre_(torch.as_tensor(rng.standard_normal(SUPPORT.shape)), problem.support.double()),
        [],
        torch.mm,
    )
    monkeypatch.setattr(gram, "BLOCKS", 0)
    monkeypatch.setattr(torch, "mm", lambda *given: products.append(1) or product(*given))
    plain = problem.untied(ties, 200)
    assert len(products) <= 7 + 2  # supports of 2, 3, 1 and 5 tokens, and what rounding costs
    for unit in (2.0**-40, 2.0**40):
        assert torch.equal(problem.untied(unit * ties, 200), unit * plain)


def test_the_largest_eigenvalue_from_below(problem):
    exact = float(torch.linalg.eigvalsh(problem.gram)[-1])
    assert 0.97 * exact < largest_eigenvalue(problem.gram) <= exact * (1 + 1e-12)
