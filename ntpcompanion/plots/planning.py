"""A path-star graph: what must be planned, and what can be looked up."""

from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes

from ntpcompanion.planning.path_star import Graphs
from ntpcompanion.plots.checks import check_axes
from ntpcompanion.plots.style import CONTRAST, MEASUREMENT, THEORY
from ntpcompanion.validation import as_integer, check_instance

RADIUS = 13  # of a node, points


def draw_path_star(ax: Axes, graphs: Graphs, row: int = 0) -> Axes:
    """One graph, its root on the left: what must be planned, and what can be looked up.

    Parameters
    ----------
    ax
        is given equal spacing of nodes and no axes.
    graphs, row
        which graph. The arm of the goal is drawn in the middle or above it.

    Returns
    -------
    Axes
        the same: a thick arrow for the step to be planned, dashed arrows for the first steps of
        the other arms, thin arrows for what follows from the node before; the goal is filled.

    Raises
    ------
    ValueError
        what are no graphs, no such row.
    """
    check_axes(ax)
    check_instance("graphs", graphs, Graphs)
    row = as_integer("row", row, 0, len(graphs) - 1)
    arms, steps = graphs.task.arms, graphs.task.length - 1
    heights = np.roll(np.arange(arms)[::-1] - (arms - 1) / 2, -((arms - 1) // 2))  # goal's first
    for arm, height in enumerate(heights.tolist()):
        at = [(0.0, 0.0), *((step + 1.0, height) for step in range(steps))]
        for step, (start, end) in enumerate(pairwise(at)):
            planned = arm == 0 and step == 0
            colour = MEASUREMENT if planned else CONTRAST if step == 0 else THEORY
            ax.annotate(
                "",
                end,
                start,
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": colour,
                    "linewidth": 2.5 if planned else 1.0,
                    "linestyle": "--" if step == 0 and arm else "-",
                    "shrinkA": RADIUS,
                    "shrinkB": RADIUS,
                },
            )
        for step, place in enumerate(at[1:]):
            label = int(graphs.branches[row, arm, step])
            _node(ax, place, label, goal=arm == 0 and step == steps - 1)
    _node(ax, (0.0, 0.0), int(graphs.root[row]))
    ax.set(xlim=(-0.4, steps + 0.4), ylim=(heights.min() - 0.5, heights.max() + 0.5))
    ax.set_axis_off()
    return ax


def _node(ax: Axes, place: tuple[float, float], label: int, *, goal: bool = False) -> None:
    circle = {"boxstyle": "circle,pad=0.35", "edgecolor": THEORY}
    circle["facecolor"] = MEASUREMENT if goal else "none"
    colour = "white" if goal else None
    ax.text(*place, str(label), ha="center", va="center", bbox=circle, color=colour)
