import numpy as np
import pytest

from ntpcompanion.geometry.geometry_bounds import Distributions, excess_and_gradient, relative_gap
from ntpcompanion.linear import ContextTable
from tests.geometry.cases import drawn_table


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_loss_and_gradient_are_those_of_a_table_with_one_hot_contexts(scale):
    laws, weight = drawn_table(8, 6, 3, 0)
    logits = scale * np.random.default_rng(1).standard_normal(laws.shape)
    excess, slope = excess_and_gradient(logits, Distributions.of(laws, weight))
    table = ContextTable(np.eye(8), laws, weight)
    assert excess == pytest.approx(table.excess(logits.T), rel=1e-10)
    np.testing.assert_allclose(slope, table.gradient(logits.T).T, atol=1e-12)


def test_a_small_excess_keeps_its_digits():
    laws, weight = drawn_table(5, 4, 2, 2)
    given = Distributions.of(laws, weight)
    logits = np.where(laws > 0, given.log_probabilities, -60.0)
    excess, _ = excess_and_gradient(logits, given)
    assert excess == pytest.approx((weight * 2 * np.exp(-60.0)).sum(), rel=1e-6)


def test_logits_far_off_the_support_stay_finite():
    laws, weight = drawn_table(5, 4, 2, 3)
    excess, slope = excess_and_gradient(
        np.where(laws > 0, -1e4, 1e4), Distributions.of(laws, weight)
    )
    assert np.isfinite(excess)
    assert np.isfinite(slope).all()


def test_the_gap_bounds_what_is_left_from_above():
    laws, weight = drawn_table(6, 5, 2, 4)
    given, ridge = Distributions.of(laws, weight), 0.01

    def objective(L):
        return excess_and_gradient(L, given)[0] + ridge * np.linalg.svd(L, compute_uv=False).sum()

    rng = np.random.default_rng(5)
    points = [s * rng.standard_normal(laws.shape) for s in (0.1, 1.0, 3.0) for _ in range(5)]
    least = min(map(objective, points))
    for L in points:
        norm = np.linalg.svd(L, compute_uv=False).sum()
        assert objective(L) - relative_gap(L, given, ridge) * ridge * norm <= least + 1e-12


def test_a_large_penalty_is_least_at_zero():
    laws, weight = drawn_table(6, 5, 2, 6)
    given, zero = Distributions.of(laws, weight), np.zeros((6, 5))
    assert relative_gap(zero, given, 10.0) == 0.0
    assert relative_gap(zero, given, 1e-3) == np.inf
