"""The same figure for a narrow screen: panels one below the other, 3.4 inches wide."""

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec, SubplotSpec
from matplotlib.legend import Legend
from matplotlib.offsetbox import VPacker
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter

from ntpcompanion.plots.drawing.placement import PlacedLabels

WIDTH = 6.5  # inches: the text column of a page
NARROW_WIDTH = 3.4  # inches: the column of a phone
NARROW_MIME = "application/vnd.ntpcompanion.narrow+svg"
METADATA = {"Date": None}  # equal figures are equal bytes

# inches: the longest title, label of an axis, and tick label of a vertical axis
_TITLE, _LABEL, _TICK_LABELS = 2.9, 2.6, 0.95


def narrow_bundle(fig: Figure, include: object = None, exclude: object = None) -> dict[str, str]:
    """What a notebook's display adds to a figure: its narrow version as SVG, by MIME type.

    `include` and `exclude` are IPython's, and say nothing about a type of ours.
    """
    with narrowed(fig):
        return {NARROW_MIME: to_svg(fig)}


def to_svg(fig: Figure) -> str:
    """A figure as SVG of its whole canvas."""
    file = io.BytesIO()
    fig.canvas.print_figure(
        file, format="svg", facecolor="none", edgecolor="none", metadata=METADATA
    )
    return file.getvalue().decode()


@contextmanager
def narrowed(fig: Figure) -> Iterator[Figure]:
    """Within the context the figure is laid out for a narrow screen: panels of one row stand below
    each other, long labels are broken, legends get fewer columns, and placed labels are placed
    anew.
    """
    with ExitStack() as undo:
        placed = fig.findobj(PlacedLabels)
        for labels in placed:
            undo.callback(labels.place)  # the last: when everything else is back
        # labels are measured and broken first: with long ones a narrow layout may find no room
        panel = fig.get_size_inches()[1] / _rows(fig)
        for legend in _legends(fig):
            _fit_legend(legend, undo)
        for ax in fig.axes:
            _fit_axes(ax, panel, undo)
        _resize(fig, undo)
        fig.draw_without_rendering()
        touching = [ax.xaxis for ax in fig.axes if _touch(ax.xaxis)]
        for axis in touching:
            undo.callback(_turn, axis, 0.0)
            _turn(axis, 45.0)
        if touching:
            fig.draw_without_rendering()
        for labels in placed:
            labels.place()
        undo.enter_context(_layout_kept(fig))
        yield fig


@contextmanager
def _layout_kept(fig: Figure) -> Iterator[None]:
    """Within the context nothing is laid out, which takes longer than drawing."""
    engine = fig.get_layout_engine()
    # not "none": that leaves an engine which does nothing, and as long as there is any, a figure is
    # drawn once more before it is printed
    with rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
        fig.set_layout_engine(None)
    try:
        yield
    finally:
        if engine is not None:  # with None, matplotlib would take that of its settings
            fig.set_layout_engine(engine)


def _panels(fig: Figure) -> list[tuple[Axes, SubplotSpec]]:
    """The axes of the figure's own grid, neither colour bars nor insets, with their places."""
    return [(ax, spec) for ax in fig.axes if (spec := ax.get_subplotspec()) is not None]


def _rows(fig: Figure) -> int:
    return max((spec.get_gridspec().nrows for _, spec in _panels(fig)), default=1)


def _resize(fig: Figure, undo: ExitStack) -> None:
    """The narrow size, with the panels of a single row in one column."""
    width, height = fig.get_size_inches()
    ax: Any  # its private methods, too
    for ax in fig.axes:
        for which in ("original", "active"):
            undo.callback(ax._set_position, ax.get_position(which == "original"), which)
    undo.callback(fig.set_size_inches, width, height)
    panels, rows = _panels(fig), 1
    grids = {id(spec.get_gridspec()) for _, spec in panels}
    if len(grids) == 1 and _rows(fig) == 1:
        rows = panels[0][1].get_gridspec().ncols
        grid = GridSpec(rows, 1, figure=fig)
        for ax, spec in panels:
            undo.callback(ax.set_subplotspec, spec)
            ax.set_subplotspec(grid[spec.num1])
    fig.set_size_inches(NARROW_WIDTH, rows * height)


def _legends(fig: Figure) -> list[Legend]:
    axes_legends = [legend for ax in fig.axes if (legend := ax.get_legend()) is not None]
    return [*fig.legends, *axes_legends]


def _fit_legend(legend: Any, undo: ExitStack) -> None:
    """As many columns as fit; what stood beside its panel stands above it."""
    if legend.axes is not None and _beside(legend):
        undo.callback(setattr, legend, "_bbox_to_anchor", legend.get_bbox_to_anchor())
        undo.callback(legend.set_loc, legend._loc)
        legend.set_bbox_to_anchor((0, 1.0), legend.axes.transAxes)
        legend.set_loc("lower left")
    box = legend._legend_handle_box
    columns = box.get_children()
    undo.callback(setattr, box, "_children", columns)
    count = len(columns)
    while count > 1 and legend.get_window_extent().width > NARROW_WIDTH * legend.figure.dpi:
        count -= 1
        box._children = _in_columns(columns, count)
        box.set_figure(legend.figure)


def _in_columns(columns: Sequence[VPacker], count: int) -> list[VPacker]:
    """The items of a legend in fewer columns: matplotlib sets their number only once."""
    items = [item for column in columns for item in column.get_children()]
    length = math.ceil(len(items) / count)
    look: dict[str, Any] = {"pad": columns[0].pad, "sep": columns[0].sep, "align": columns[0].align}
    starts = range(0, len(items), length)
    return [VPacker(children=items[start : start + length], **look) for start in starts]


def _beside(legend: Legend) -> bool:
    return bool(legend.get_bbox_to_anchor().x0 >= legend.axes.bbox.x1 - 1)


def _fit_axes(ax: Any, panel: float, undo: ExitStack) -> None:
    """Labels and titles no longer than the panel, which is `panel` inches high."""
    dpi = ax.figure.dpi
    for text, limit in (
        (ax._left_title, _TITLE),
        (ax.title, _TITLE),
        (ax.xaxis.label, _LABEL),
        (ax.yaxis.label, 0.85 * panel),
    ):
        _fit_text(text, limit * dpi, undo)
    _fit_tick_labels(ax.yaxis, _TICK_LABELS * dpi, undo)


def _fit_text(text: Text, limit: float, undo: ExitStack) -> None:
    extent = text.get_window_extent()
    length = extent.height if text.get_rotation() % 180 == 90 else extent.width
    if text.get_text() and length > limit:
        undo.callback(text.set_text, text.get_text())
        text.set_text(_broken(text.get_text(), math.ceil(length / limit)))


def _fit_tick_labels(axis: Axis, limit: float, undo: ExitStack) -> None:
    """Break names on a vertical axis; numbers are short."""
    formatter = axis.get_major_formatter()
    if not isinstance(formatter, FixedFormatter):
        return
    widths = [label.get_window_extent().width for label in axis.get_ticklabels()]
    if max(widths, default=0) > limit:
        names = [
            _broken(name, math.ceil(width / limit))
            for name, width in zip(formatter.seq, widths, strict=True)
        ]
        undo.callback(axis.set_major_formatter, formatter)
        axis.set_major_formatter(FixedFormatter(names))


def _broken(text: str, lines: int) -> str:
    """The text in about so many lines of about equal length; formulas stay whole."""
    words = re.findall(r"(?:\$[^$]*\$|\S)+", text)
    length = sum(map(len, words)) + len(words) - 1
    pieces, used = [""], 0
    for word in words:
        # a word goes to the line on which its middle falls
        wanted = int((used + len(word) / 2) / length * lines)
        if pieces[-1] and wanted >= len(pieces):
            pieces.append("")
        pieces[-1] = f"{pieces[-1]} {word}".strip()
        used += len(word) + 1
    return "\n".join(pieces)


def _touch(axis: Axis) -> bool:
    boxes = [
        label.get_window_extent()
        for label in axis.get_ticklabels()
        if label.get_text() and label.get_visible()
    ]
    boxes = sorted((box for box in boxes if box.width), key=lambda box: box.x0)
    return any(one.x1 + 2 > other.x0 for one, other in pairwise(boxes))


def _turn(axis: Axis, angle: float) -> None:
    axis.set_tick_params(labelrotation=angle)
