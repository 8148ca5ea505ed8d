import numpy as np
import pytest
from scipy import stats

from ntpcompanion import plots


def test_means_stand_in_their_intervals_over_seeds(ax, rng):
    values = rng.normal(size=(6, 3))
    line = plots.draw_means(ax, [1, 10, 100], values, colour="red", linestyle="none")
    assert line.get_xydata() == pytest.approx(np.column_stack([[1, 10, 100], values.mean(0)]))
    assert (line.get_color(), line.get_marker(), line.get_linestyle()) == ("red", "o", "None")
    bars = ax.collections[0].get_segments()
    for bar, column in zip(bars, values.T, strict=True):
        ends = stats.t.interval(0.95, 5, column.mean(), stats.sem(column))
        assert bar[:, 1] == pytest.approx(ends)
