"""Lines by meaning, theory and measurement, and the axes they share."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from ntpcompanion.plots.style import MEASUREMENT, THEORY


def draw_theory(ax: Axes, x: ArrayLike, y: ArrayLike) -> Line2D:
    """A predicted curve: a thin grey line through the points (x, y).

    Returns
    -------
    Line2D
        the line, for its label.
    """
    return ax.plot(x, y, color=THEORY, linewidth=1, zorder=1)[0]


def draw_measured(
    ax: Axes, x: ArrayLike, y: ArrayLike, *, colour: str = MEASUREMENT, marker: str = "o"
) -> Line2D:
    """An exact measured series: markers at the points (x, y), joined by a line.

    Returns
    -------
    Line2D
        the line, for its label.
    """
    return ax.plot(x, y, color=colour, marker=marker, clip_on=False)[0]


def rate_axis(ax: Axes, rates: Sequence[float]) -> Axes:
    """A logarithmic axis of learning rates, with a tick at each of them and no others.

    Parameters
    ----------
    ax
        whose x axis it is.
    rates
        the learning rates.

    Returns
    -------
    Axes
        `ax`.
    """
    ax.set(xscale="log", xlabel="learning rate $\\eta$")
    ax.set_xticks(rates)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    return ax
