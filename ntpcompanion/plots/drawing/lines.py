"""Lines by meaning, theory and measurement, and the axes they share."""

from collections.abc import Sequence
from typing import Annotated, Literal, cast

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from ntpcompanion.checks import Between, Shape, checked, need
from ntpcompanion.plots.drawing.labels import label_line
from ntpcompanion.plots.drawing.plot_arguments import Colour, Marker, Series, check_frame
from ntpcompanion.plots.drawing.style import CONTRAST, FURTHER, MEASUREMENT, THEORY
from ntpcompanion.validation import as_array

# Colours of the lines of one panel, in order.
CURVES = (MEASUREMENT, CONTRAST, FURTHER[0])


@checked
def draw_theory(ax: Axes, x: Series, y: Series) -> Line2D:
    """A predicted curve: a thin grey line through the points (x, y).

    Returns
    -------
    Line2D
        the line, for its label.
    """
    return ax.plot(x, y, color=THEORY, linewidth=1, zorder=1)[0]


@checked
def draw_measured(
    ax: Axes, x: Series, y: Series, *, colour: Colour = MEASUREMENT, marker: Marker = "o"
) -> Line2D:
    """An exact measured series: markers at the points (x, y), joined by a line.

    Returns
    -------
    Line2D
        the line, for its label.
    """
    return ax.plot(x, y, color=colour, marker=marker, clip_on=False)[0]


@checked
def set_ticks(
    ax: Axes,
    *,
    x: Annotated[ArrayLike, Shape("columns")] | None = None,
    y: Annotated[ArrayLike, Shape("rows")] | None = None,
) -> None:
    """Ticks at certain values and no others, each written with as many of six digits as it has.

    Parameters
    ----------
    ax
        the panel.
    x, y
        the values on its axes; an axis without values keeps its ticks, but none between them.

    Examples
    --------
    >>> from ntpcompanion import plots
    >>> _, (ax,) = plots.figure()
    >>> plots.set_ticks(ax, x=[0.5, 20])
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['0.5', '20']
    """
    for axis, values in ((ax.xaxis, x), (ax.yaxis, y)):
        if values is not None:
            places = as_array("ticks", values)
            texts = [f"{place:g}".replace("-", "\N{MINUS SIGN}") for place in places]
            axis.set_ticks(places, texts)
    ax.minorticks_off()


@checked
def rate_axis(
    ax: Axes,
    rates: Annotated[Sequence[float], Shape("rates"), Between(0, np.inf, "on a logarithmic axis")],
) -> Axes:
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
    ax.set(xscale="log", xlabel="learning rate $\\eta$")
    set_ticks(ax, x=rates)
    return ax


@checked(
    need(
        "frame",
        "len(frame.columns) <= min(len(CURVES), len(offsets))",
        f"have at most {len(CURVES)} columns, and `offsets` a pair for each",
    )
)
def draw_curves(
    ax: Axes,
    frame: pd.DataFrame,
    index: int = -1,
    offsets: Sequence[tuple[float, float]] = ((5, 0),) * len(CURVES),
    style: Literal["-", "--", "-.", ":"] = "-",
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
    check_frame("frame", frame, list(frame))
    for name, colour, offset in zip(frame, CURVES, offsets, strict=False):
        line = ax.plot(frame[name], color=colour, linestyle=style)[0]
        if style == "-":
            label_line(ax, line, cast(str, name), index=index, offset=offset)
    ax.set(xscale="log", yscale="log", xlabel=frame.index.name)
    return ax
