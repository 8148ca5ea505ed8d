import numpy as np
import pytest
from scipy.optimize import minimize

from ntpcompanion.linear.tables.weighted_supports import SupportDistribution, weighted_supports
from ntpcompanion.linear.thresholds import order_parameters
from ntpcompanion.linear.thresholds.order_parameters import saddle_threshold
from ntpcompanion.linear.thresholds.support_bounds import distribution_of_supports, two_token_bound
from ntpcompanion.linear.thresholds.threshold import predicted_threshold


@pytest.mark.parametrize(("V", "S"), [(4, 1), (4, 2), (4, 3), (6, 2)])
def test_tokens_that_are_alike_give_the_closed_form(V, S):
    distribution = weighted_supports([1.0] * V, S)
    found = [saddle_threshold(distribution, np.random.default_rng(s), draws=3000) for s in range(3)]
    values = [one.ratio for one in found]
    exact = predicted_threshold(V, S)
    assert np.mean(values) == pytest.approx(exact, abs=0.015)
    assert found[0].pooled_ratio == pytest.approx(exact, abs=0.02)
    assert found[0].covariance == pytest.approx(np.eye(V) - 1 / V, abs=0.25)


@pytest.mark.parametrize(("V", "S"), [(3, 1), (5, 3)])
def test_one_support_for_all_contexts_gives_one_half(rng, V, S):
    """Wendel: the table is separable if a half-space holds all embeddings."""
    distribution = distribution_of_supports(np.tile(np.arange(V) < S, (2, 1)))
    assert saddle_threshold(distribution, rng, draws=200).ratio == pytest.approx(0.5, abs=1e-9)


def test_tokens_of_the_same_or_of_no_support_change_nothing(rng):
    distribution = weighted_supports([3.0, 2.0, 1.0], 1)
    more = SupportDistribution(
        np.c_[distribution.supports[:, [0, 0, 1, 2]], np.zeros((3, 2), bool)],
        distribution.probability,
    )
    a, b = (
        saddle_threshold(one, np.random.default_rng(0), draws=300, iterations=5)
        for one in (distribution, more)
    )
    assert b.covariance.shape == (3, 3)
    assert a.ratio == pytest.approx(b.ratio, abs=0.03)


@pytest.mark.parametrize("weights", [[1.0, 1.0], [9.0, 1.0]])
def test_two_tokens_give_one_half_whatever_their_frequencies(rng, weights):
    found = saddle_threshold(weighted_supports(weights, 1), rng, draws=100)
    assert found.ratio == pytest.approx(0.5, abs=1e-9)
    assert found.pooled_ratio == pytest.approx(0.5, abs=1e-9)
    assert found.change < 1e-9


def test_two_tokens_that_are_sometimes_tied(rng):
    """A tie is one equation, a margin half an equation."""
    distribution = SupportDistribution(
        np.array([[1, 0], [0, 1], [1, 1]], dtype=bool), np.array([0.5, 0.2, 0.3])
    )
    assert saddle_threshold(distribution, rng, draws=400).ratio == pytest.approx(0.65, abs=1e-9)


def test_it_does_not_fall_below_what_two_frequent_tokens_need(rng):
    distribution = weighted_supports([8.0, 8.0, 1.0, 1.0], 1)
    found = saddle_threshold(distribution, rng, draws=4000)
    assert found.ratio == pytest.approx(two_token_bound(distribution), abs=0.02)
    assert found.ratio > predicted_threshold(4, 1) + 0.03


def largest_ratio(covariance, drawn):
    """max over N, by a search that knows no equations: a grid of ellipses, the best one refined."""
    basis = np.array([[1, 1], [-1, 1], [0, -2]]) / np.sqrt([2, 6])

    def loss(x):
        angle, log_ratio = x
        turned = basis @ [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        response = turned * np.exp([-log_ratio, log_ratio]) @ turned.T
        ratios = order_parameters._ratios(covariance, order_parameters._normalized(response), drawn)
        return -ratios[0]

    grid = [(a, r) for a in np.arange(8) * np.pi / 8 for r in (0.0, 0.5, 1.0, 1.5)]
    best = min(grid, key=loss)
    return -minimize(loss, best, method="Nelder-Mead", options={"maxfev": 40}).fun


def test_the_solution_is_the_smallest_over_covariances_of_the_largest_over_metrics(rng):
    distribution = weighted_supports([6.0, 1.0, 1.0], 1)
    found = saddle_threshold(distribution, rng, draws=3000, iterations=40)
    drawn = order_parameters._draw(distribution, 1000, rng)
    least = largest_ratio(found.covariance, drawn)
    assert least == pytest.approx(found.ratio, abs=0.005)
    for root in ([2.0, -1.0, -1.0], [0.0, 1.0, -1.0]):
        bent = order_parameters._normalized(np.eye(3) - 1 / 3 + np.outer(root, root))
        assert largest_ratio(bent, drawn) > least + 0.005


def test_draws_have_the_second_moments_of_the_normal_law(rng):
    distribution = weighted_supports([1.0, 1.0, 1.0], 1)
    drawn = order_parameters._draw(distribution, 90, rng)
    for support in distribution.supports:
        xi = drawn.normals[(drawn.supports == support).all(axis=1)]
        assert xi.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
        assert xi.T @ xi / len(xi) == pytest.approx(np.eye(3), abs=1e-12)
    assert drawn.weight.sum() == pytest.approx(1)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"draws": 1}, "`draws` must be at least 2, got 1"),
        ({"tolerance": 0.0}, "`tolerance` must be positive"),
        (
            {"distribution": distribution_of_supports(np.ones((2, 3), dtype=bool))},
            "no token off any support",
        ),
    ],
)
def test_bad_input_is_named(rng, change, message):
    given = {"distribution": weighted_supports([1.0, 1.0], 1), "rng": rng} | change
    with pytest.raises(ValueError, match=message):
        saddle_threshold(**given)
