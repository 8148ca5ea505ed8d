from itertools import combinations

import numpy as np
import pytest

from ntpcompanion.linear.thresholds import tie_projection as pooling
from ntpcompanion.linear.thresholds.tie_projection import mean_stiffness, pool


def random_response(rng, V):
    root = rng.standard_normal((V, V))
    return root @ root.T + 0.1 * np.eye(V)


def nearest_by_enumeration(response, point, support):
    """The best of the projections onto the spans of all faces, among those that lie in the cone."""
    V = len(point)
    whiten = np.linalg.cholesky(np.linalg.inv(response)).T
    others = np.flatnonzero(~support)
    best = None
    for count in range(len(others) + 1):
        for joined in combinations(others, count):
            pooled = support.copy()
            pooled[list(joined)] = True
            span = np.column_stack([pooled, np.eye(V)[:, ~pooled]]).astype(float)
            x = span @ np.linalg.lstsq(whiten @ span, whiten @ point, rcond=None)[0]
            distance = np.linalg.norm(whiten @ (point - x))
            if x.max() <= x[support][0] + 1e-9 and (best is None or distance < best[0]):
                best = distance, x
    return best[1]


def supports_of(rng, n, V):
    supports = rng.random((n, V)) < 0.4
    supports[np.arange(n), rng.integers(V, size=n)] = True
    return supports


def test_no_face_has_a_nearer_point(rng):
    V, n = 5, 30
    response, points = random_response(rng, V), rng.standard_normal((n, V))
    supports = supports_of(rng, n, V)
    found = pool(response, points, supports)
    x = points - found.multipliers @ response
    for row in range(n):
        nearest = nearest_by_enumeration(response, points[row], supports[row])
        assert x[row] == pytest.approx(nearest, abs=1e-8)


def test_multipliers_and_pooled_tokens_have_the_right_signs(rng):
    V, n = 7, 200
    response, points = random_response(rng, V), rng.standard_normal((n, V))
    supports = supports_of(rng, n, V)
    found = pool(response, points, supports, start=rng.random((n, V)) < 0.5)
    x = points - found.multipliers @ response
    assert np.abs(found.multipliers.sum(axis=1)).max() < 1e-8
    assert np.where(supports, 0, found.multipliers).min() > -1e-8
    assert np.abs(np.where(found.pooled, 0, found.multipliers)).max() == 0
    assert np.where(found.pooled, x.max(axis=1, keepdims=True) - x, 0).max() < 1e-8
    assert (found.pooled | ~supports).all()


def test_the_stiffness_is_the_derivative_of_the_multipliers(rng):
    V = 5
    response, points = random_response(rng, V), rng.standard_normal((8, V))
    supports = supports_of(rng, 8, V)
    weight = rng.dirichlet(np.ones(8))
    here = pool(response, points, supports)
    step, numeric = 1e-7, np.zeros((V, V))
    for v in range(V):
        moved = pool(response, points + step * np.eye(V)[v], supports)
        assert np.array_equal(moved.pooled, here.pooled), "no face changes within so small a step"
        numeric[:, v] = weight @ (moved.multipliers - here.multipliers) / step
    assert mean_stiffness(response, here.pooled, weight) == pytest.approx(numeric, abs=1e-5)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_response_without_an_end_is_named(rng, monkeypatch):
    """Λ = −I is not a metric: pooling moves logits apart."""
    monkeypatch.setattr(pooling, "MAX_EXCHANGES", 50)
    points = rng.standard_normal((3, 4))
    supports = np.tile(np.arange(4) < 1, (3, 1))
    with pytest.raises(RuntimeError, match="the response matrix is numerically singular"):
        pool(-np.eye(4), points, supports)
