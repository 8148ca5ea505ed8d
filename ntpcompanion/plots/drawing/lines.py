"""Lines by meaning, theory and measurement, and the axes they share."""

from collections.abc import Sequence
from typing import cast

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from ntpcompanion.plots.drawing.labels import label_line
from ntpcompanion.plots.drawing.plot_checks import (
    check_axes,
    check_frame,
    check_look,
    check_numbers,
    check_series,
)
from ntpcompanion.plots.drawing.style import CONTRAST, FURTHER, MEASUREMENT, THEORY
from ntpcompanion.validation import as_shaped, check_choice

# Colours of the lines of one panel, in order.
CURVES = (MEASUREMENT, CONTRAST, FURTHER[0])


def draw_theory(ax: Axes, x: ArrayLike, y: ArrayLike) -> Line2D:
    """A predicted curve: a thin grey line through the points (x, y).

    Returns
    -------
    Line2D
        the line, for its label.
    """
    check_axes(ax)
    check_series(x=x, y=y)
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
    check_axes(ax)
    check_series(x=x, y=y)
    check_look(colour, marker)
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

    Raises
    ------
    ValueError
        rates that are not positive.
    """
    check_axes(ax)
    if (smallest := as_shaped("rates", rates, (None,)).min()) <= 0:
        raise ValueError(f"`rates` must be positive on a logarithmic axis, got {smallest}.")
    ax.set(xscale="log", xlabel="learning rate $\\eta$")
    ax.set_xticks(rates)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    return ax


def draw_curves(
    ax: Axes,
    frame: pd.DataFrame,
    index: int = -1,
    offsets: Sequence[tuple[float, float]] = ((5, 0),) * len(CURVES),
    style: str = "-",
) -> Axes:
    """One line for every column of a frame against its index, on two logarithmic axes.

    Parameters
    ----------
    ax
        where to draw.
    frame
        up to three columns, named as the lines are labelled; the name of the index is the label of
        the x axis.
    index, offsets
        the index of the points beside which the labels stand, and for every label its distance
        from there, in points.
    style
        of the lines; only solid lines ("-") are labelled.

    Returns
    -------
    Axes
        `ax`.

    Raises
    ------
    ValueError
        more columns than there are colours, or what is not a data frame of numbers.
    """
    check_axes(ax)
    check_frame("frame", frame)
    check_numbers("frame", frame, *frame)
    check_choice("style", style, ("-", "--", "-.", ":"))
    as_shaped("offsets", offsets, (None, 2), "points to the right, and up")
    if not len(frame.columns) <= min(len(CURVES), len(offsets)):
        raise ValueError(
            f"`frame` must have at most {len(CURVES)} columns, and `offsets` a pair for each, got "
            f"{len(frame.columns)} columns and {len(offsets)} pairs."
        )
    for name, colour, offset in zip(frame, CURVES, offsets, strict=False):
        line = ax.plot(frame[name], color=colour, linestyle=style)[0]
        if style == "-":
            label_line(ax, line, cast(str, name), index=index, offset=offset)
    ax.set(xscale="log", yscale="log", xlabel=frame.index.name)
    return ax
