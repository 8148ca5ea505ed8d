import numpy as np
import pytest
import torch

from ntpcompanion import plots

REACH = (0.5, 2.5, 0.2, 2.0)


def hyperbola(points):
    return (points[:, 0] * points[:, 1] - 1) ** 2


def straight(points):
    """A straight valley whose curvature 2 + x grows to the right."""
    return (2 + points[:, 0]) / 2 * points[:, 1] ** 2


def test_the_valley_has_its_band_its_walls_and_the_path(ax):
    plots.draw_valley(ax, hyperbola, [[2.0, 0.5], [1.0, 1.0]], REACH)
    assert ax.lines[0].get_xydata().tolist() == [[2.0, 0.5], [1.0, 1.0]]
    band, floor, walls = ax.collections
    for filled, level in ((band, 1e-2), (floor, 2e-5)):
        x, y = filled.get_paths()[0].vertices.T
        inside = (x > 0.6) & (x < 2.4) & (y > 0.3) & (y < 1.9)
        assert np.sqrt(hyperbola(np.stack([x, y], 1))[inside]).max() == pytest.approx(
            level**0.5, rel=0.2
        )
    assert [len(path.vertices) > 0 for path in walls.get_paths()] == [True, True]
    assert (*ax.get_xlim(), *ax.get_ylim()) == REACH


def test_a_valley_without_a_path_has_no_line(ax):
    plots.draw_valley(ax, hyperbola, None, REACH)
    assert not ax.lines


def test_a_pair_of_forces_leaves_a_push_to_the_wide_part(ax):
    feet = [[1.0, 0.0], [3.0, 0.0]]
    plots.draw_forces(ax, straight, feet, distance=0.2, enlarged=10)
    *sides, pushes = ax.collections
    unit = 0.9 * 0.2 / np.hypot(5 * 0.2, 0.02)  # the longest force is (1/2 · 0.2², 5 · 0.2)
    heights = sorted(float(y) for side in sides for y in side.Y)
    assert heights == pytest.approx([-0.2, -0.2, 0.2, 0.2])
    for side in sides:  # −∇L = (−y²/2, −(2 + x) y)
        assert side.U == pytest.approx(unit * np.full(2, -0.02), rel=1e-9)
        assert side.V == pytest.approx(-unit * (2 + side.X) * side.Y, rel=1e-9)
    assert (pushes.X.tolist(), pushes.Y.tolist()) == ([1, 3], [0, 0])
    assert pushes.U == pytest.approx(10 * unit * np.full(2, -0.02), rel=1e-9)
    assert pushes.V == pytest.approx(np.zeros(2), abs=1e-12)


def test_where_the_walls_are_parallel_nothing_is_left(ax):
    plots.draw_forces(
        ax, lambda points: points[:, 1] ** 2, torch.zeros(1, 2).double(), distance=1, enlarged=9
    )
    pushes = ax.collections[-1]
    assert np.hypot(pushes.U, pushes.V).max() == 0


def test_a_loss_without_slope_has_no_forces(ax):
    with pytest.raises(ValueError, match="`excess` has no slope at `distance` = 1 from"):
        plots.draw_forces(
            ax, lambda points: 0 * points[:, 1], torch.zeros(1, 2).double(), distance=1, enlarged=9
        )
