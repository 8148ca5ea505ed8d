import cvxpy as cp
import numpy as np
import pytest

from ntpcompanion.generalization import excess_risk, fit_residual_memory
from ntpcompanion.generalization.residual_memory import draw_ball


def noisy_line(rng, n=40, d=3, noise=0.3):
    x = rng.standard_normal((n, d))
    theta = np.array([0.6, 0.8, 0.0])[:d]
    return x, x @ theta + noise * rng.standard_normal(n), theta


def by_all_distances(memory, new):
    """Base plus mean residual, with every distance computed."""
    distance = ((new[:, None] - memory.inputs) ** 2).sum(axis=2)
    rows = np.argsort(distance, axis=1)[:, : memory.neighbours]
    return np.array(
        [
            x @ memory.slope + memory.residuals[near].mean()
            for x, near in zip(new, rows, strict=True)
        ]
    )


@pytest.mark.parametrize("max_norm", [0.2, 0.7, 5.0])
def test_the_base_is_that_of_the_convex_program(rng, max_norm):
    x, y, _ = noisy_line(rng)
    w = cp.Variable(3)
    cp.Problem(cp.Minimize(cp.sum_squares(x @ w - y)), [cp.norm(w) <= max_norm]).solve(
        solver=cp.CLARABEL
    )
    found = fit_residual_memory(x, y, max_norm=max_norm)
    np.testing.assert_allclose(found.slope, w.value, atol=1e-5)
    assert np.linalg.norm(found.slope) <= max_norm + 1e-12
    np.testing.assert_allclose(found.residuals, y - x @ found.slope)


def test_more_inputs_than_examples_give_the_shortest_base(rng):
    x, y = rng.standard_normal((2, 3)), np.array([0.1, -0.2])
    found = fit_residual_memory(x, y, max_norm=100)
    np.testing.assert_allclose(found.slope, np.linalg.pinv(x) @ y, atol=1e-12)


@pytest.mark.parametrize("neighbours", [1, 5])
def test_predictions_are_those_of_all_distances(rng, neighbours):
    x, y, _ = noisy_line(rng)
    memory = fit_residual_memory(x, y, max_norm=0.5, neighbours=neighbours)
    new = rng.standard_normal((30, 3))
    np.testing.assert_allclose(memory.predict(new), by_all_distances(memory, new), atol=1e-12)


def test_excess_risk_is_a_mean_of_squares(rng):
    x, y, theta = noisy_line(rng)
    memory = fit_residual_memory(x, y, max_norm=0.5)
    new = rng.standard_normal((4, 3))
    squares = [(float(memory.predict(z[None])[0]) - z @ theta) ** 2 for z in new]
    assert excess_risk(memory, new, theta) == pytest.approx(np.mean(squares), abs=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_points_are_uniform_in_the_ball(rng, dim):
    points = draw_ball(rng, 20_000, dim, 2.0)
    lengths = np.linalg.norm(points, axis=1)
    assert lengths.max() <= 2
    second = points.T @ points / len(points)  # R² / (d + 2) times the identity; six errors
    np.testing.assert_allclose(second, np.eye(dim) * 4 / (dim + 2), atol=6 * 4 / 20_000**0.5)
    inner = (lengths < 1).mean()  # the ball of half the radius has 2^-d of the volume
    assert abs(inner - 2.0**-dim) < 6 * 0.5 / 20_000**0.5


X, Y = np.ones((3, 2)), np.ones(3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fit_residual_memory(X, Y, max_norm=1, neighbours=4), "`neighbours` .*1 … 3"),
        (lambda: excess_risk(fit_residual_memory(X, Y, max_norm=1), X, [1]), "`slope`"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
