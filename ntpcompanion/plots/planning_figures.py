"""A path-star graph: what must be planned, what can be looked up, and what training learns of
both.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ntpcompanion.checks import Length, Probability, Range, checked, need
from ntpcompanion.planning.path_star_task import Graphs
from ntpcompanion.plots.drawing.plot_arguments import check_frame
from ntpcompanion.plots.drawing.style import CONTRAST, MEASUREMENT, THEORY
from ntpcompanion.validation import check_flag

RADIUS = 13  # of a node, points
# of a node after the root: its name and its colour
COURSE_LOOKS = {1: ("first node", MEASUREMENT), 2: ("second node", CONTRAST)}


@checked
def draw_path_star(
    ax: Axes, graphs: Graphs, row: Annotated[int, Range(0, "len(graphs) - 1")] = 0
) -> Axes:
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
        what are not graphs, no such row.
    """
    arms, steps = graphs.task.arms, graphs.task.length - 1
    heights = np.roll(np.arange(arms)[::-1] - (arms - 1) / 2, -((arms - 1) // 2))  # goal's first
    for arm, height in enumerate(heights.tolist()):
        points = [(0.0, 0.0), *((step + 1.0, height) for step in range(steps))]
        for step, (start, end) in enumerate(pairwise(points)):
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
        for step, place in enumerate(points[1:]):
            label = int(graphs.branches[row, arm, step])
            _node(ax, place, label, goal=arm == 0 and step == steps - 1)
    _node(ax, (0.0, 0.0), int(graphs.root[row]))
    ax.set(xlim=(-0.4, steps + 0.4), ylim=(heights.min() - 0.5, heights.max() + 0.5))
    ax.set_axis_off()
    return ax


@checked(need("panels", "len(panels) == len(titles)", "be one for each of `titles`"))
def draw_courses(
    panels: Annotated[Sequence[Axes], Length(1)],
    courses: pd.DataFrame,
    titles: Mapping[Any, str],
    *,
    chance: Probability,
    by: str = "objective",
) -> None:
    """Accuracy at the first and second node after the root while networks are trained, a line for
    each run.

    Parameters
    ----------
    panels
        one for each title; the last one names the two nodes, in the colours of their lines.
    courses
        from `experiments.course_table`.
    titles
        of the panels, for the values of a column.
    chance
        accuracy of a guess among the arms, a dotted line.
    by
        the column whose values say to which panel a run belongs.

    Raises
    ------
    ValueError
        no table with these columns, a title without rows, other than one panel for each title, a
        chance that is not between 0 and 1.
    """
    check_frame("courses", courses, ("seed", "step", "node", "accuracy"), [by])
    if unknown := set(titles) - set(courses[by]):
        raise ValueError(f"`titles` has {unknown}, which no run has as its `{by}`.")
    for ax, (value, title) in zip(panels, titles.items(), strict=True):
        for (node, _), run in courses[courses[by] == value].groupby(["node", "seed"]):
            if node in COURSE_LOOKS:
                ax.plot(run.step, run.accuracy, color=COURSE_LOOKS[node][1], linewidth=1)
        ax.axhline(chance, color=THEORY, linestyle=":")
        ax.set(xlabel="training steps", ylim=(-0.03, 1.05), xlim=(0, None), title=title)
    for line, (name, colour) in enumerate(COURSE_LOOKS.values()):
        place: dict[str, Any] = {"ha": "right", "transform": panels[-1].transAxes}
        panels[-1].text(0.98, 0.2 - 0.09 * line, name, color=colour, **place)
    panels[0].set_ylabel("accuracy at the node")


@checked
def draw_success_map(ax: Axes, runs: pd.DataFrame) -> Axes:
    """Which runs succeed, by the length of the path and the weight of the other tokens' loss: a dot
    for each run, filled where it solves the task.

    Parameters
    ----------
    ax
        its title says what else the runs have in common.
    runs
        columns length, others and seed (numbers) and solved (true or false), a row for each run.
        The dots of a cell are in the order of the seeds.

    Returns
    -------
    Axes
        the same, with a row for each length and a column for each weight that occurs.

    Raises
    ------
    ValueError
        no table with these columns, no rows, a column of another kind.
    """
    check_frame("runs", runs, ("length", "others", "seed"), ["solved"])
    for solved in runs.solved:
        check_flag("runs.solved", solved)
    weights, lengths = (sorted(runs[name].unique()) for name in ("others", "length"))
    cells = runs.sort_values("seed").groupby(["length", "others"]).solved
    maximum = max(cells.size())
    for (length, weight), cell in cells:
        beside = (np.arange(len(cell)) - (len(cell) - 1) / 2) * 0.7 / maximum
        solved = cell.to_numpy(bool)
        for which, inside in ((solved, MEASUREMENT), (~solved, "none")):
            x = weights.index(weight) + beside[which]
            y = np.full(len(x), lengths.index(length))
            ax.scatter(x, y, s=38, facecolors=inside, edgecolors=MEASUREMENT)
    ax.set(xticks=range(len(weights)), xticklabels=[f"{weight:g}" for weight in weights])
    ax.set(yticks=range(len(lengths)), yticklabels=[f"{length:g}" for length in lengths])
    ax.set(xlim=(-0.5, len(weights) - 0.5), ylim=(-0.5, len(lengths) - 0.5))
    ax.set_xlabel("weight of the other tokens")
    return ax


def _node(ax: Axes, place: tuple[float, float], label: int, *, goal: bool = False) -> None:
    circle = {"boxstyle": "circle,pad=0.35", "edgecolor": THEORY}
    circle["facecolor"] = MEASUREMENT if goal else "none"
    colour = "white" if goal else None
    ax.text(*place, str(label), ha="center", va="center", bbox=circle, color=colour)
