"""One look for every figure: results and Axes in, Axes out. Only `use_style` changes anything
outside its arguments.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
import torch
from IPython.core.getipython import get_ipython
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from matplotlib_inline.backend_inline import set_matplotlib_formats
from numpy.typing import ArrayLike
from torch import Tensor

from ntpcompanion.languages.counting import ContextCounts

WIDTH = 6.5  # inches: the text column of a page

# Axes, text and theory: a grey that reads on white and on the dark page (contrast above 4 on both).
INK = "#7a7a7a"

_BLUE, _ORANGE, _GREEN, _VERMILION, _PINK = sns.color_palette("colorblind").as_hex()[:5]

# One colour per meaning, in the whole book.
IN_SUPPORT = _BLUE
OUT_OF_SUPPORT = _ORANGE
MEASUREMENT = _GREEN
PAPER = _PINK
CONTRAST = _VERMILION  # a second measured quantity beside MEASUREMENT
THEORY = INK


def use_style() -> None:
    """Set matplotlib's defaults for the book, and SVG figures in a notebook. Call it once, before
    the first figure.

    Transparent background, mid-grey ink, 9-point text, equal bytes for equal figures.
    """
    sns.set_theme(style="ticks", palette="colorblind")
    mpl.rcParams.update(
        {
            **dict.fromkeys(
                ("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor"),
                "none",
            ),
            **dict.fromkeys(
                (
                    "text.color",
                    "axes.labelcolor",
                    "axes.titlecolor",
                    "axes.edgecolor",
                    "xtick.color",
                    "ytick.color",
                ),
                INK,
            ),
            **dict.fromkeys(
                ("font.size", "axes.labelsize", "axes.titlesize", "legend.fontsize"), 9.5
            ),
            **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), 9.0),
            **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
            **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.8),
            "axes.titlelocation": "left",
            "lines.linewidth": 1.6,
            "lines.markersize": 5,
            "figure.constrained_layout.use": True,
            "svg.hashsalt": "ntpcompanion",
        }
    )
    if get_ipython() is not None:
        set_matplotlib_formats("svg", bbox_inches=None, metadata={"Date": None})


def figure(ncols: int = 1, height: float = 2.8) -> tuple[Figure, list[Axes]]:
    """A figure as wide as the page with a row of `ncols` panels, `height` inches high; the panels
    come as a list, also a single one.
    """
    from matplotlib import pyplot

    fig, axes = pyplot.subplots(1, ncols, figsize=(WIDTH, height), squeeze=False)
    return fig, list(axes[0])


@dataclass(frozen=True, eq=False)
class CsvLink:
    """The data of a figure as a download that is part of the page: `filename` holds `frame` as CSV
    with full digits.
    """

    frame: pd.DataFrame
    filename: str

    def __repr__(self) -> str:
        return f"{self.filename}: data as CSV ({len(self.frame)} rows)"

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.frame.to_csv(index=False).encode()).decode()
        name = escape(self.filename, quote=True)
        text = f"data as CSV ({len(self.frame)} rows)"
        return f'<a class="csv" download="{name}" href="data:text/csv;base64,{data}">{text}</a>'


def csv_link(frame: pd.DataFrame, filename: str) -> CsvLink:
    """What a cell under a figure returns: a link that saves the figure's data as `filename`. Raises
    ValueError unless it ends in .csv.
    """
    if not filename.endswith(".csv"):
        raise ValueError(f"`filename` must end in .csv, got {filename!r}.")
    return CsvLink(frame, filename)


def label_line(
    ax: Axes, line: Line2D, text: str, *, at: int = -1, offset: tuple[float, float] = (5.0, 0.0)
) -> None:
    """Write `text` beside point `at` of a line, in the line's colour, `offset` points away: a
    direct label instead of a legend.
    """
    x, y = line.get_xydata()[at]
    side = "left" if offset[0] > 0 else "right" if offset[0] < 0 else "center"
    ax.annotate(
        text,
        (x, y),
        xytext=offset,
        textcoords="offset points",
        color=line.get_color(),
        ha=side,
        va="center",
        annotation_clip=False,
    )


def draw_theory(ax: Axes, x: ArrayLike, y: ArrayLike) -> Line2D:
    """A predicted curve: a thin grey line."""
    return ax.plot(x, y, color=THEORY, linewidth=1, zorder=1)[0]


def draw_measured(
    ax: Axes, x: ArrayLike, y: ArrayLike, *, colour: str = MEASUREMENT, marker: str = "o"
) -> Line2D:
    """An exact measured series: markers joined by a line."""
    return ax.plot(x, y, color=colour, marker=marker, clip_on=False)[0]


def draw_support_sizes(ax: Axes, counts: Sequence[ContextCounts]) -> Axes:
    """The share of contexts with at least s successors against s, one line for each context length;
    both axes logarithmic.
    """
    # the palest do not read on white
    shades = sns.color_palette(f"light:{MEASUREMENT}", n_colors=len(counts) + 3).as_hex()[3:]
    for count, shade in zip(counts, shades, strict=True):
        sizes, share = survival(count.support_sizes)
        line = ax.plot(sizes, share, color=shade, drawstyle="steps-pre")[0]
        # where the curves lie farthest apart
        lower = int(np.abs(np.log(share) - 0.75 * np.log(share[-1])).argmin())
        label_line(ax, line, f"$t = {count.length}$", at=lower, offset=(4.0, 4.0))
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="successors $s$ (tokens)",
        ylabel="share of contexts with $S_j \\geq s$",
    )
    return ax


def survival(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values s of `sizes`, ascending, and the share of entries that are at least s."""
    values, numbers = np.unique(sizes, return_counts=True)
    return values, numbers[::-1].cumsum()[::-1] / sizes.size


def draw_one_hot(ax: Axes, counts: Sequence[ContextCounts]) -> Axes:
    """The share of contexts with one successor against the context length: of the distinct
    contexts, and of the places in the text.
    """
    lengths = [count.length for count in counts]
    of_contexts = draw_measured(
        ax, lengths, [count.share_one_hot(by_frequency=False) for count in counts]
    )
    of_places = draw_measured(
        ax, lengths, [count.share_one_hot(by_frequency=True) for count in counts], marker="s"
    )
    label_line(ax, of_contexts, "of contexts", at=len(counts) // 2, offset=(-6.0, 6.0))
    label_line(
        ax, of_places, "of places in the text", at=min(2, len(counts) - 1), offset=(8.0, -4.0)
    )
    ax.set(xlabel="context length $t$ (tokens)", ylabel="share with one successor", ylim=(0, 1))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def draw_num_contexts(ax: Axes, counts: Sequence[ContextCounts]) -> Axes:
    """The number m_t of distinct contexts against t, beside its bound: the number of predicted
    positions.
    """
    lengths = [count.length for count in counts]
    positions = counts[0].context_of.size
    bound = draw_theory(ax, lengths, [positions] * len(counts))
    label_line(ax, bound, f"{positions:,} positions", at=0, offset=(0.1, 7.0))
    draw_measured(ax, lengths, [count.num_contexts for count in counts])
    ax.set(yscale="log", xlabel="context length $t$ (tokens)", ylabel="distinct contexts $m_t$")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def draw_floor(ax: Axes, counts: Sequence[ContextCounts]) -> Axes:
    """The floor H_t against t = 0, 1, 2, …, and the losses of the unigram (H_0) and bigram (H_1)
    models, which lose the gap to it.
    """
    lengths = [count.length for count in counts]
    for order, text in enumerate(("unigram model", "bigram model")):
        level = ax.plot(
            lengths[order:],
            [counts[order].entropy] * (len(counts) - order),
            color=CONTRAST,
            linewidth=1.2,
        )[0]
        label_line(ax, level, text, at=-1, offset=(-2.0, 7.0))
    floor = draw_measured(ax, lengths, [count.entropy for count in counts])
    label_line(ax, floor, "floor $H_t$", at=min(3, len(counts) - 1), offset=(6.0, 6.0))
    ax.set(xlabel="context length $t$ (tokens)", ylabel="loss (nats per token)", ylim=(0, None))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def draw_share(
    ax: Axes,
    ratio: ArrayLike,
    share: ArrayLike,
    draws: int,
    *,
    colour: str = MEASUREMENT,
    marker: str = "o",
) -> Line2D:
    """The share of `draws` random tables with a property against d/m: markers joined by a line,
    with binomial standard errors.
    """
    share = np.asarray(share, dtype=float)
    ax.errorbar(
        ratio,
        share,
        yerr=np.sqrt(share * (1 - share) / draws),
        color=colour,
        linestyle="none",
        clip_on=False,
    )
    line = draw_measured(ax, ratio, share, colour=colour, marker=marker)
    ax.set(xlabel="embedding dimension / contexts, $d/m$", ylabel="share of tables", ylim=(0, 1))
    return line


def draw_verdict_shares(ax: Axes, frame: pd.DataFrame, draws: int) -> Axes:
    """Shares of compatible, separable and undecided tables against d/m, and the point d = m from
    which Lemma 1 promises both.

    `frame` has the columns "d/m", "compatible", "separable" and "undecided", one row for each d.
    """
    lemma = draw_theory(ax, [1, 1], [0, 1])
    label_line(ax, lemma, "$d = m$", at=0, offset=(-4.0, 26.0))
    for column, colour, marker in (
        ("compatible", IN_SUPPORT, "s"),
        ("separable", MEASUREMENT, "o"),
    ):
        line = draw_share(ax, frame["d/m"], frame[column], draws, colour=colour, marker=marker)
        ax.annotate(
            column,
            rise(line),
            xytext=(9, 0),
            textcoords="offset points",
            color=line.get_color(),
            va="center",
        )
    undecided = draw_share(ax, frame["d/m"], frame["undecided"], draws, colour=CONTRAST, marker="x")
    label_line(ax, undecided, "undecided", at=5 * len(frame) // 6, offset=(0.0, 8.0))
    return ax


def rise(line: Line2D) -> tuple[float, float]:
    """Where a line from 0 to 1 first passes ½: halfway (on a logarithmic axis) between the two
    points around it.
    """
    x, y = line.get_xydata().T
    after = int(np.argmax(y >= 0.5))
    before = max(after - 1, 0)
    return float(np.sqrt(x[before] * x[after])), float((y[before] + y[after]) / 2)


def draw_excess(ax: Axes, gamma: ArrayLike, excess: ArrayLike, bound: ArrayLike) -> Axes:
    """The loss above the floor along W^p + γ W^d (points) and its explicit bound (line) against γ;
    the losses on a logarithmic axis.
    """
    line = draw_theory(ax, gamma, bound)
    points = draw_measured(ax, gamma, excess)
    points.set_linestyle("none")
    middle = len(np.asarray(gamma)) // 2
    label_line(ax, line, "bound", at=middle, offset=(6.0, 6.0))
    label_line(ax, points, "measured", at=middle, offset=(-6.0, -8.0))
    ax.set(yscale="log", xlabel="$\\gamma$", ylabel="excess loss (nats)")
    return ax


def draw_laws(ax: Axes, laws: ArrayLike) -> Axes:
    """Next-token laws as a table of cells, one row for each context: probabilities written in,
    black where a token cannot follow.
    """
    laws = np.asarray(laws, dtype=float)
    ax.imshow(np.where(laws > 0, 1.0, 0.0), cmap="gray", vmin=0, vmax=1, aspect="auto")
    for (row, column), p in np.ndenumerate(laws):
        if p > 0:
            ax.text(
                column,
                row,
                f"{p:.2f}".removeprefix("0"),
                ha="center",
                va="center",
                fontsize=8,
                color="black",
            )
    m, V = laws.shape
    ax.set(
        xticks=range(V),
        xticklabels=range(1, V + 1),
        yticks=range(m),
        yticklabels=[f"$h_{j}$" for j in range(1, m + 1)],
    )
    ax.set(xlabel="token", ylabel="context")
    ax.tick_params(length=0)
    return ax


def draw_plane(ax: Axes, contexts: ArrayLike, words: ArrayLike) -> Axes:
    """Word vectors in the plane as numbered dots, and the directions of the contexts as arrows as
    long as the longest word vector.

    Words that coincide (to a hundredth of that length) share a dot and a label.
    """
    contexts, words = np.asarray(contexts, dtype=float), np.asarray(words, dtype=float)
    reach = np.linalg.norm(words, axis=1).max()
    for j, h in enumerate(contexts, 1):
        tip = reach * h / np.linalg.norm(h)
        ax.annotate(
            "",
            tip,
            (0, 0),
            arrowprops={"arrowstyle": "->", "color": THEORY, "shrinkA": 0, "shrinkB": 0},
        )
        ax.text(*(1.18 * tip), f"$h_{j}$", color=THEORY, ha="center", va="center")
    left = list(range(len(words)))
    while left:
        here = [z for z in left if np.linalg.norm(words[z] - words[left[0]]) < 0.01 * reach]
        left = [z for z in left if z not in here]
        ax.plot(*words[here[0]], "o", color=MEASUREMENT)
        label = ", ".join(str(z + 1) for z in here)
        ax.annotate(
            label, words[here[0]], xytext=(4, 4), textcoords="offset points", color=MEASUREMENT
        )
    ax.set(
        xlim=(-1.4 * reach, 1.4 * reach),
        ylim=(-1.4 * reach, 1.4 * reach),
        aspect="equal",
        xlabel="first coordinate",
    )
    ax.set_ylabel("second coordinate")
    return ax


def draw_overlap(ax: Axes, overlap: ArrayLike, cosine: ArrayLike) -> Axes:
    """The cosine of two word vectors against the overlap of the contexts they follow, one faint dot
    for each pair of words.
    """
    ax.plot(
        overlap,
        cosine,
        "o",
        color=MEASUREMENT,
        markersize=2.5,
        alpha=0.25,
        markeredgewidth=0,
        rasterized=True,
    )
    ax.axhline(0, color=THEORY, linewidth=0.8)
    ax.set(
        xlabel="overlap of the contexts of two words",
        ylabel="cosine in $W^{\\mathrm{mm}}$",
        xlim=(-0.02, 1.02),
        ylim=(-1, 1.02),
    )
    return ax


def rate_axis(ax: Axes, rates: Sequence[float]) -> Axes:
    """A logarithmic axis of learning rates, with a tick at each of them and no others."""
    ax.set(xscale="log", xlabel="learning rate $\\eta$")
    ax.set_xticks(rates)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    return ax


def draw_valley(
    ax: Axes,
    excess: Callable[[Tensor], Tensor],
    path: ArrayLike,
    reach: tuple[float, float, float, float],
) -> Axes:
    """Lines of equal excess loss in two parameters, 1e-4 to 0.1 by half powers of ten, and a path;
    `reach`: left, right, bottom, top.
    """
    left, right, bottom, top = reach
    across, up = np.linspace(left, right, 90), np.linspace(bottom, top, 90)
    points = torch.tensor(np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2))
    levels = 10.0 ** np.arange(-4, -0.9, 0.5)
    ax.contour(across, up, excess(points).reshape(90, 90), levels, colors=THEORY, linewidths=0.5)
    ax.plot(*np.asarray(path).T, color=CONTRAST, linewidth=2)
    ax.set(xlabel="$a$", ylabel="$b$", xlim=(left, right), ylim=(bottom, top))
    return ax
