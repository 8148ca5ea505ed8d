import cvxpy as cp
import numpy as np
import pytest

from ntpcompanion.adaptation import fair_embeddings
from ntpcompanion.adaptation.fair_embeddings import (
    common_shift_metric,
    distance_gaps,
    equalizing_metric,
    lossless_metric,
    without_directions,
)


def draw(seed, n, d, spread=1.0):
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(d)
    return rng.standard_normal((n, d)), common + spread * rng.standard_normal((n, d)), common


def gap_matrices(s, v):
    outer = s[:, :, None] * v[:, None, :]
    return (outer + outer.transpose(0, 2, 1)) / 2


def test_gaps_are_differences_of_squared_distances():
    rng = np.random.default_rng(0)
    first, second, neutral = rng.standard_normal((3, 5, 4))
    linear = rng.standard_normal((3, 4))
    s, v = first + second - 2 * neutral, first - second
    far, near = (((each - neutral) @ linear.T) ** 2 for each in (first, second))
    expected = far.sum(1) - near.sum(1)
    assert distance_gaps(s, v, linear.T @ linear) == pytest.approx(expected)


@pytest.mark.numerical
@pytest.mark.parametrize(("n", "singular"), [(3, False), (14, True)])
def test_the_metric_of_the_loss_is_that_of_a_cone_program(n, singular):
    s, v, _ = draw(n, n, 4)
    ridge = 1e-3
    metric = equalizing_metric(s, v, ridge)
    wanted = cp.Variable((4, 4), PSD=True)
    gaps = cp.hstack([cp.trace(each @ wanted) for each in gap_matrices(s, v)])
    size = float(((s * v).sum(1) ** 2).sum())
    loss = cp.sum_squares(gaps) / size + ridge * cp.sum_squares(wanted - np.eye(4))
    cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL)
    assert metric == pytest.approx(wanted.value, abs=1e-4)
    assert (np.linalg.eigvalsh(metric)[0] < 1e-8) == singular


def test_antipodal_variants_need_no_map():
    assert np.array_equal(equalizing_metric(np.zeros((3, 2)), np.ones((3, 2)), 0.1), np.eye(2))


def test_a_metric_that_has_not_converged_is_refused(monkeypatch):
    end = type("End", (), {"x": np.ones(14)})
    monkeypatch.setattr(fair_embeddings, "minimize", lambda dual, start, **_: end)
    with pytest.raises(RuntimeError, match=r"not converged at `ridge` = 0\.001"):
        equalizing_metric(*draw(14, 14, 4)[:2], 1e-3)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_with_a_common_shift_the_formula_is_the_limit_of_the_loss(n):
    s, v, common = draw(n, n, 6, spread=0.0)
    metric, left = common_shift_metric(s, common)
    assert metric == pytest.approx(equalizing_metric(s, v, 1e-9), abs=1e-5)
    assert distance_gaps(s, v, metric) == pytest.approx(np.zeros(n), abs=1e-12)
    assert common @ metric @ common / (common @ common) == pytest.approx(left)
    rho = ((1 - left) / (1 + left)) ** 0.5
    assert np.linalg.eigvalsh(metric)[0] == pytest.approx((1 - rho) / (1 + rho**2))
    assert lossless_metric(s, v) is not None


def test_with_as_many_contents_as_dimensions_a_common_shift_is_lost():
    s, v, common = draw(0, 4, 4, spread=0.0)
    metric, left = common_shift_metric(s, common)
    projection = np.eye(4) - np.outer(common, common) / (common @ common)
    assert left == pytest.approx(0, abs=1e-9)
    assert metric == pytest.approx(projection)
    assert equalizing_metric(s, v, 1e-9) == pytest.approx(projection, abs=1e-3)
    assert lossless_metric(s, v) is None


def test_a_shift_of_zero_is_named():
    with pytest.raises(ValueError, match="`shift` must have an entry that is not 0"):
        common_shift_metric([[1.0, 0.0]], [0.0, 0.0])


def test_no_asymmetry_leaves_everything():
    metric, left = common_shift_metric(np.zeros((2, 3)), np.ones(3))
    assert left == 1
    assert np.array_equal(metric, np.eye(3))


@pytest.mark.numerical
@pytest.mark.parametrize("n", [3, 5, 6, 7, 8])
def test_a_loss_is_forced_where_a_sum_of_gap_matrices_is_positive(n):
    """The other side of the alternative, as a cone program: a sum of trace one."""
    s, v, _ = draw(10 + n, n, 4)
    weights, total = cp.Variable(n), cp.Variable((4, 4), symmetric=True)
    combined = sum(w * each for w, each in zip(weights, gap_matrices(s, v), strict=True))
    problem = cp.Problem(cp.Minimize(0), [total == combined, total >> 0, cp.trace(total) == 1])
    problem.solve(solver=cp.SCS, eps=1e-7)
    metric = lossless_metric(s, v)
    assert (metric is None) == (problem.status == "optimal")
    if metric is not None:
        assert np.linalg.eigvalsh(metric)[0] > 0
        assert distance_gaps(s, v, metric) == pytest.approx(np.zeros(n), abs=1e-8)


def test_too_few_steps_are_said(monkeypatch):
    monkeypatch.setattr(fair_embeddings, "MAX_NEWTON_STEPS", 1)
    with pytest.raises(RuntimeError, match="No verdict after 1 steps"):
        lossless_metric(*draw(0, 3, 4)[:2])


def test_projections_drop_the_leading_directions():
    _, v, _ = draw(1, 6, 4)
    metric = without_directions(v, 2)
    assert metric @ metric == pytest.approx(metric)
    assert np.linalg.norm(v @ metric) ** 2 == pytest.approx(
        (np.linalg.svd(v, compute_uv=False)[2:] ** 2).sum()
    )
    with pytest.raises(ValueError, match="`count` must be at most the dimension 4, got 5"):
        without_directions(v, 5)
