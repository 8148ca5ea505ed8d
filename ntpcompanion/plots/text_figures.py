"""Contexts of a text: how many there are, what follows them, and the entropy lower bound."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ntpcompanion.checks import Is, Length, checked
from ntpcompanion.languages.text.counting import ContextCounts
from ntpcompanion.plots.drawing.labels import label_line
from ntpcompanion.plots.drawing.lines import draw_measured, draw_theory
from ntpcompanion.plots.drawing.style import CONTRAST, ramp

Counts = Annotated[Sequence[ContextCounts], Length(1)]


@checked
def draw_support_sizes(ax: Axes, counts: Counts) -> Axes:
    """The fraction of contexts with at least s successors against s, both axes logarithmic.

    Parameters
    ----------
    ax
        where to draw.
    counts
        one line for each of them, that is for each context length.

    Returns
    -------
    Axes
        `ax`.
    """
    for count, shade in zip(counts, ramp(len(counts)), strict=True):
        sizes, fraction = survival(count.support_sizes)
        line = ax.plot(sizes, fraction, color=shade, drawstyle="steps-pre")[0]
        # where the curves lie farthest apart
        lower = int(np.abs(np.log(fraction) - 0.75 * np.log(fraction[-1])).argmin())
        label_line(ax, line, f"$t = {count.length}$", index=lower, offset=(4.0, 4.0))
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="successors $s$ (tokens)",
        ylabel="fraction of contexts with $S_j \\geq s$",
    )
    return ax


def survival(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values s of a sample, rising, and for each the fraction of entries ≥ s."""
    values, numbers = np.unique(sizes, return_counts=True)
    return values, numbers[::-1].cumsum()[::-1] / sizes.size


def survival_table(counts: Counts) -> pd.DataFrame:
    """The data of `draw_support_sizes` and `draw_one_hot`: a row for each length t and number of
    successors s.
    """
    columns = "t", "s", "fraction of contexts with at least s successors"
    tables = []
    for count in counts:
        rows = zip(*survival(count.support_sizes), strict=True)
        table = pd.DataFrame([(count.length, *row) for row in rows], columns=columns)
        table["one-hot, of contexts"] = count.share_one_hot(by_frequency=False)
        table["one-hot, of positions"] = count.share_one_hot(by_frequency=True)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


@checked
def draw_one_hot(ax: Axes, counts: Counts) -> Axes:
    """The fraction of contexts with one successor against the context length: of the distinct
    contexts, and of the positions in the text.

    Parameters
    ----------
    ax
        where to draw.
    counts
        one for each context length.

    Returns
    -------
    Axes
        `ax`.
    """
    lengths = [count.length for count in counts]
    of_contexts = draw_measured(
        ax, lengths, [count.share_one_hot(by_frequency=False) for count in counts]
    )
    of_positions = draw_measured(
        ax, lengths, [count.share_one_hot(by_frequency=True) for count in counts], marker="s"
    )
    label_line(ax, of_contexts, "of contexts", index=len(counts) // 2, offset=(-6.0, 6.0))
    label_line(
        ax,
        of_positions,
        "of positions in the text",
        index=min(2, len(counts) - 1),
        offset=(8.0, -4.0),
    )
    ax.set(xlabel="context length $t$ (tokens)", ylabel="fraction with one successor", ylim=(0, 1))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


@checked
def draw_num_contexts(ax: Axes, counts: Counts) -> Axes:
    """The number m_t of distinct contexts against their length t, beside its bound: the number of
    predicted positions.

    Parameters
    ----------
    ax
        where to draw.
    counts
        one for each context length, all of the same text.

    Returns
    -------
    Axes
        `ax`.
    """
    lengths = [count.length for count in counts]
    positions = counts[0].context_of.size
    bound = draw_theory(ax, lengths, [positions] * len(counts))
    label_line(ax, bound, f"{positions:,} positions", index=0, offset=(0.1, 7.0))
    draw_measured(ax, lengths, [count.num_contexts for count in counts])
    ax.set(yscale="log", xlabel="context length $t$ (tokens)", ylabel="distinct contexts $m_t$")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


@checked
def draw_floor(
    ax: Axes,
    counts: Annotated[
        Sequence[ContextCounts],
        Length(2),
        Is(
            lambda counts: all(count.length == t for t, count in enumerate(counts)),
            "be those of the lengths 0, 1, 2, … in this order",
        ),
    ],
) -> Axes:
    """The entropy lower bound H_t ("the floor") against the context length t, beside the losses of
    the unigram model, H_0, and of the bigram model, H_1.

    Parameters
    ----------
    ax
        where to draw.
    counts
        those of the lengths t = 0, 1, 2, …, in this order.

    Returns
    -------
    Axes
        `ax`.

    Raises
    ------
    ValueError
        counts that are not those of the lengths 0, 1, 2, … in this order.
    """
    lengths = [count.length for count in counts]
    for order, text in enumerate(("unigram model", "bigram model")):
        level = ax.plot(
            lengths[order:],
            [counts[order].entropy] * (len(counts) - order),
            color=CONTRAST,
            linewidth=1.2,
        )[0]
        label_line(ax, level, text, index=-1, offset=(-2.0, 7.0))
    floor = draw_measured(ax, lengths, [count.entropy for count in counts])
    label_line(ax, floor, "floor $H_t$", index=min(3, len(counts) - 1), offset=(6.0, 6.0))
    ax.set(xlabel="context length $t$ (tokens)", ylabel="loss (nats per token)", ylim=(0, None))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax
