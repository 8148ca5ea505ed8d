import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from ntpcompanion.generalization import gaussian_overlap
from ntpcompanion.generalization.neighbourhoods import (
    box_overlap,
    draw_neighbours,
    relative_weights,
)


def test_boxes_are_integrated_exactly():
    centres, h = np.random.default_rng(0).random(7), 0.1
    fine = np.linspace(-0.5, 1.5, 2_000_001)
    inside = (np.abs(fine[:, None] - centres) < h).mean(axis=1)
    assert box_overlap(centres, h) == pytest.approx(np.sqrt(inside).mean() * 2 / (2 * h), abs=1e-5)
    assert box_overlap(np.arange(9.0), 0.4) == pytest.approx(3, rel=1e-14)
    assert box_overlap(np.zeros(9), 0.4) == pytest.approx(1, rel=1e-14)


def test_gaussian_neighbourhoods_agree_with_quadrature():
    centres, sigma = np.random.default_rng(1).random(20), 0.05
    value, _ = quad(
        lambda z: np.sqrt((norm.pdf(z, centres, sigma) ** 2).mean()), -0.5, 1.5, limit=400
    )
    rng = np.random.default_rng(2)
    found = gaussian_overlap(centres[:, None], sigma, draws=20_000, generator=rng)
    assert abs(found.value - value) < 4 * found.stderr
    assert found.stderr < 0.01 * value
    same = gaussian_overlap(np.ones((5, 3)), 1, draws=10, generator=rng)
    assert (same.value, same.stderr) == pytest.approx((1, 0))


def test_weights_are_densities_divided_by_their_sum(rng):
    centres, at = rng.random((6, 2)), rng.random((3, 2))
    densities = np.array([norm.pdf(centres, z, 0.3).prod(axis=1) for z in at])
    expected = densities / densities.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(relative_weights(at, centres, 0.3), expected, rtol=1e-10)


def test_neighbours_have_the_variance_of_their_neighbourhood(rng):
    offsets = draw_neighbours(np.full((40_000, 2), 7.0), 0.5, rng) - 7
    np.testing.assert_allclose(np.cov(offsets.T), np.diag([0.25, 0.25]), atol=0.01)
