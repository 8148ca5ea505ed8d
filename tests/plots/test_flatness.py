import numpy as np

from ntpcompanion import plots


def test_the_valley_has_its_lines_and_the_path(ax):
    plots.draw_valley(
        ax,
        lambda points: (points[:, 0] * points[:, 1] - 1) ** 2,
        [[2.0, 0.5], [1.0, 1.0]],
        (0.5, 2.5, 0.2, 2.0),
    )
    assert ax.lines[0].get_xydata().tolist() == [[2.0, 0.5], [1.0, 1.0]]
    lines = [path for path in ax.collections[0].get_paths() if len(path.vertices)]
    assert len(lines) == 7
    x, y = lines[0].vertices.T
    assert np.abs((x * y - 1) ** 2 - 1e-4).max() < 1e-3
    assert (*ax.get_xlim(), *ax.get_ylim()) == (0.5, 2.5, 0.2, 2.0)
