"""Means over seeds with their intervals."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from ntpcompanion.plots.drawing.plot_checks import check_axes, check_look
from ntpcompanion.plots.drawing.style import MEASUREMENT
from ntpcompanion.statistics.effects import mean_effect
from ntpcompanion.validation import as_shaped


def draw_means(
    ax: Axes,
    x: ArrayLike,
    values: ArrayLike,
    *,
    colour: str = MEASUREMENT,
    marker: str = "o",
    **look: Any,
) -> Line2D:
    """The means over seeds of a measured series, with their 95 % intervals.

    Parameters
    ----------
    ax
        where to draw.
    x
        (points,).
    values
        (seeds, points): a row for each seed.
    colour, marker, look
        of the line, as matplotlib's `errorbar` takes them.

    Returns
    -------
    Line2D
        the line, for its label.

    Raises
    ------
    ValueError
        values that are not a matrix with a column for each x, fewer than two seeds, or an unknown
        look.
    """
    check_axes(ax)
    check_look(colour, marker)
    across = as_shaped("x", x, (None,), "a number for each point")
    columns = as_shaped("values", values, (None, len(across)), "a column for each of `x`").T
    effects = [mean_effect(column) for column in columns]
    means = [one.mean for one in effects]
    half = [one.interval[1] - one.mean for one in effects]
    return ax.errorbar(across, means, half, color=colour, marker=marker, **look).lines[0]
