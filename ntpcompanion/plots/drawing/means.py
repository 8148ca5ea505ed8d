"""Means over seeds with their intervals."""

from typing import Annotated, Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from ntpcompanion.checks import Shape, checked
from ntpcompanion.plots.drawing.plot_arguments import Colour, Marker
from ntpcompanion.plots.drawing.style import MEASUREMENT
from ntpcompanion.statistics.effects import mean_effect
from ntpcompanion.validation import as_array


@checked
def draw_means(
    ax: Axes,
    x: Annotated[ArrayLike, Shape("points")],
    values: Annotated[ArrayLike, Shape("seeds points")],
    *,
    colour: Colour = MEASUREMENT,
    marker: Marker = "o",
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
    effects = [mean_effect(column) for column in as_array("values", values).T]
    means = [one.mean for one in effects]
    half = [one.interval[1] - one.mean for one in effects]
    return ax.errorbar(as_array("x", x), means, half, color=colour, marker=marker, **look).lines[0]
