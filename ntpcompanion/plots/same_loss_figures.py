"""Interventions at the same loss: flatness against accuracy, ours beside the paper's, and levels of
loss.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.transforms import blended_transform_factory

from ntpcompanion.checks import Is, checked
from ntpcompanion.plots.drawing.lines import draw_theory
from ntpcompanion.plots.drawing.placement import label_points, spread
from ntpcompanion.plots.drawing.plot_arguments import check_frame
from ntpcompanion.plots.drawing.style import (
    CONTRAST,
    FURTHER,
    IN_SUPPORT,
    INK,
    MEASUREMENT,
    OUT_OF_SUPPORT,
    PAPER,
    THEORY,
)
from ntpcompanion.statistics.effects import quantile_of_t
from ntpcompanion.statistics.power import verdict_on
from ntpcompanion.validation import as_array, check_finite

# what an interval says of an expected effect of at least δ
_WORDS = {
    "supported": "reaches δ",
    "refuted": "falls short of δ",
    "inconclusive": "undecided",
}
PRINTED_SLOPE = -6.2  # points of accuracy per e-fold of the trace, in the paper's Table 2
# colour and marker of each kind of intervention, in the order in which they come
_LOOKS = (
    (MEASUREMENT, "o"),
    (CONTRAST, "s"),
    (IN_SUPPORT, "^"),
    (OUT_OF_SUPPORT, "v"),
    (FURTHER[0], "P"),
    (FURTHER[1], "X"),
)
# ticks of an axis of factors, by the factor
_FACTORS = {
    1 / 8: "1/8", 1 / 4: "1/4", 1 / 3: "1/3", 1 / 2: "1/2", 2 / 3: "2/3", 1: "1",
    3 / 2: "3/2", 2: "2", 3: "3", 4: "4", 8: "8", 16: "16",
}  # fmt: skip
_NEAR_ONE = {4 / 5: "0.8", 9 / 10: "0.9", 11 / 10: "1.1", 5 / 4: "1.25"}  # where all is near 1
_MIN_REACH = 1.5  # points of accuracy that the plane shows on both sides of 0


@checked
def draw_trace_plane(ax: Axes, frame: pd.DataFrame, printed_slope: float = PRINTED_SLOPE) -> Axes:
    """Change of accuracy against change of the balanced trace, for every kind of intervention.

    Each seed is compared with its own saturated model, which stands at the origin. Faint points are
    single seeds; markers are means over seeds, with 95 % intervals of Student's t in both
    directions and a line along the strengths of one kind. The thin line through the origin has the
    slope that the paper reports.

    Parameters
    ----------
    ax
        where to draw.
    frame
        a row for each run: `kind` (text), `strength` (number), `seed`, `log_trace` (change of the
        natural logarithm of the balanced trace) and `points` (change of accuracy, in points).
    printed_slope
        the paper's, in points of accuracy per e-fold of the trace.

    Returns
    -------
    Axes
        `ax`, with a label beside one point of each kind.

    Raises
    ------
    ValueError
        a missing column, no rows, or more kinds than there are markers.
    """
    check_frame("frame", frame, ("strength", "log_trace", "points"), ("kind", "seed"))
    kinds = list(dict.fromkeys(frame["kind"]))
    if not 0 < len(kinds) <= len(_LOOKS):
        raise ValueError(
            f"`frame` must hold 1 … {len(_LOOKS)} kinds of interventions, got {len(kinds)}: there "
            "is a colour and a marker for each."
        )
    _plane_axes(ax, frame)
    drawn = [frame[["log_trace", "points"]].to_numpy()]
    anchors = []
    for kind, (colour, marker) in zip(kinds, _LOOKS, strict=False):
        means, halves = _means(frame[frame["kind"] == kind])
        _draw_kind(ax, frame[frame["kind"] == kind], means, halves, colour, marker)
        anchors.append(means[np.argsort(-np.abs(means).sum(1))])
        drawn += [_along_bars(means, halves)]
    line = _paper_line(ax, printed_slope)
    drawn += [line, *_along_zero(ax)]
    slope = f"{printed_slope:+.1f}".replace("-", "−")
    texts = [*kinds, f"the paper's slope:\n{slope} points per e-fold"]
    colours = [look[0] for look in _LOOKS[: len(kinds)]] + [THEORY]
    label_points(ax, [*anchors, line[5:-5:4]], texts, colours, np.concatenate(drawn))
    return ax


def _plane_axes(ax: Axes, frame: pd.DataFrame) -> None:
    across, up = frame["log_trace"].abs().max(), frame["points"].abs().max()
    low, high = frame["log_trace"].min(), frame["log_trace"].max()
    margin = 0.12 * max(high - low, across, 0.1)
    reach = max(_MIN_REACH, 1.1 * up)
    ax.set(xlim=(min(low, 0) - margin, max(high, 0) + margin), ylim=(-reach, reach))
    ticks = _within(_FACTORS, ax.get_xlim())
    if len(ticks) > 8:  # labels between powers of two would lie over each other
        ticks = [factor for factor in ticks if np.log2(factor).is_integer()]
    if len(ticks) < 3:
        ticks = sorted({*ticks, *_within(_NEAR_ONE, ax.get_xlim())})
    ax.set_xticks(np.log(ticks), [(_FACTORS | _NEAR_ONE)[f] for f in ticks])
    ax.set(
        xlabel="balanced trace, as a multiple of the saturated model's (log scale)",
        ylabel="change of accuracy (points)",
    )
    for zero in (ax.axhline, ax.axvline):
        zero(0, color=INK, linewidth=0.6, linestyle=(0, (4, 3)), zorder=0)


def _within(factors: Mapping[float, str], limits: tuple[float, float]) -> list[float]:
    return [factor for factor in factors if limits[0] <= np.log(factor) <= limits[1]]


def _means(group: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Means over seeds and half widths of their intervals, (strengths, 2) each."""
    by_strength = group.groupby("strength")[["log_trace", "points"]]
    counts = by_strength.size().to_numpy()
    quantiles = [quantile_of_t(int(count)) if count > 1 else 0.0 for count in counts]
    halves = np.nan_to_num(by_strength.sem().to_numpy()) * np.array(quantiles)[:, None]
    return by_strength.mean().to_numpy(), halves


def _draw_kind(
    ax: Axes, group: pd.DataFrame, means: np.ndarray, halves: np.ndarray, colour: str, marker: str
) -> None:
    seeds = group["log_trace"], group["points"]
    ax.plot(*seeds, marker, color=colour, alpha=0.25, markersize=3, markeredgewidth=0, zorder=2)
    bars: dict[str, Any] = {"xerr": halves[:, 0], "yerr": halves[:, 1], "elinewidth": 1.1}
    ax.errorbar(*means.T, **bars, color=colour, marker=marker, linewidth=0.8, zorder=3)


def _along_bars(means: np.ndarray, halves: np.ndarray) -> np.ndarray:
    """Points along the error bars and along the line that joins the means."""
    steps = np.linspace(-1, 1, 7)[:, None, None]
    ways = [means + steps * halves * side for side in ([1, 0], [0, 1])]
    inner = np.linspace(0, 1, 9)[:, None, None]
    ways.append(means[:-1] + inner * (means[1:] - means[:-1]))
    return np.concatenate([way.reshape(-1, 2) for way in ways])


def _along_zero(ax: Axes) -> list[np.ndarray]:
    """Points along both lines through the origin."""
    ends = np.linspace(*ax.get_xlim(), 50), np.linspace(*ax.get_ylim(), 50)
    return [np.stack([ends[0], np.zeros(50)], 1), np.stack([np.zeros(50), ends[1]], 1)]


def _paper_line(ax: Axes, slope: float) -> np.ndarray:
    """Draw the line through the origin; returns 40 points along its visible part."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    ends = sorted((bottom / slope, top / slope)) if slope else (left, right)
    x = np.linspace(max(left, ends[0]), min(right, ends[1]), 40)
    draw_theory(ax, x, slope * x)
    return np.stack([x, slope * x], axis=1)


@checked
def draw_comparisons(ax: Axes, table: pd.DataFrame) -> Axes:
    """The paper's numbers beside ours: a row for each comparison, from top to bottom.

    An open diamond is the paper's printed value, a point with a bar ours with its 95 % interval, a
    small tick δ, the smallest effect of interest. Whether the interval reaches δ stands at
    the right, as text.

    Parameters
    ----------
    ax
        where to draw; about .35 inches of height for each row, and .9 for the axis.
    table
        a row for each comparison: `label`, `paper` (NaN where the paper prints none), `value`,
        `low`, `high` (the ends of our interval) and `delta` (with the sign of the direction that
        the paper states; NaN where nothing is expected).

    Returns
    -------
    Axes
        `ax`.

    Raises
    ------
    ValueError
        a missing column or no rows.
    """
    numbers = ("value", "low", "high", "paper", "delta")
    check_frame("table", table, numbers, ["label"])
    for name in numbers[:3]:
        check_finite("table", table[name].to_numpy())
    rows = np.arange(len(table))
    ours = np.abs(table[["low", "high"]].to_numpy().T - table["value"].to_numpy())
    ax.axvline(0, color=INK, linewidth=0.6, linestyle=(0, (4, 3)), zorder=0)
    ax.errorbar(
        table["value"], rows, xerr=ours, fmt="o", color=MEASUREMENT, label="ours, 95 % interval"
    )
    ax.plot(table["paper"], rows, "D", color=PAPER, markerfacecolor="none", label="paper")
    ax.plot(
        table["delta"], rows, "|", color=THEORY, markersize=12, markeredgewidth=1.4,
        label="δ, the smallest effect of interest",
    )  # fmt: skip
    judged = table[["low", "high", "delta"]].to_numpy(float)
    for row, (low, high, delta) in zip(rows, judged, strict=True):
        if np.isfinite(delta):
            verdict = _WORDS[verdict_on(low, high, delta)]
            ax.annotate(
                verdict, (1.02, row), xycoords=("axes fraction", "data"), va="center",
                annotation_clip=False,
            )  # fmt: skip
    ax.margins(x=0.09)  # no mark touches a label
    ax.set_yticks(rows, table["label"])
    ax.set(ylim=(len(table) - 0.5, -0.5), xlabel="effect (units as in the labels)")
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    above = blended_transform_factory(ax.figure.transFigure, ax.transAxes)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), bbox_transform=above, ncols=3)
    return ax


@checked
def draw_ladder(
    ax: Axes,
    rows: Annotated[
        Mapping[str, float],
        Is(lambda rows: len(rows) > 1, "hold at least two losses", "A gap needs two."),
    ],
) -> Axes:
    """The loss of several predictors of one language as levels above the entropy lower bound.

    Parameters
    ----------
    ax
        where to draw; at least 2 inches wide.
    rows
        the loss of each predictor in nats, by its name: the entropy lower bound ("floor"), a
        saturated model, predictors that see less. The lowest is what the gaps are measured from.

    Returns
    -------
    Axes
        `ax`: each level has its name, its loss and its gap to the lowest beside it, and an arrow
        shows the gap.

    Raises
    ------
    ValueError
        fewer than two levels, or a loss that is not finite.
    """
    names, levels = list(map(str, rows)), as_array("rows", list(rows.values()))
    floor, span = levels.min(), float(np.ptp(levels)) or 1.0
    ax.set(xlim=(0, 1), ylim=(floor - 0.15 * span, floor + 1.15 * span), ylabel="loss (nats)")
    ax.set(xticks=[], yticks=[])  # every level has its number
    ax.spines[["left", "bottom"]].set_visible(False)
    beside = spread(levels, 0.17 * span)
    arrows = np.linspace(0.19, 0.03, len(levels))
    order = np.argsort(np.argsort(levels))
    arrow = {"arrowstyle": "<->", "color": INK, "shrinkA": 0, "shrinkB": 0}
    for name, level, text, place in zip(names, levels, beside, arrows[order], strict=True):
        _draw_level(ax, name, level, text, floor)
        if level - floor > 0.06 * span:
            ax.annotate("", (place, level), (place, floor), arrowprops=arrow)
    return ax


def _draw_level(ax: Axes, name: str, level: float, beside: float, floor: float) -> None:
    """One level: a line, a leader and its label at the height `beside`."""
    colour = THEORY if level == floor else MEASUREMENT
    gap = "" if level == floor else f" (+{level - floor:.3f})"
    ax.plot([0, 0.22], [level, level], color=colour, linewidth=1.6)
    ax.plot([0.22, 0.29], [level, beside], color=colour, linewidth=0.6)
    ax.text(0.31, beside, f"{name}\n{level:.3f}{gap}", va="center", linespacing=1.05)
