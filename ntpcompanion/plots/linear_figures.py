"""Random tables, distributions of the next token, decoders with their parts, margins and cones, and
word vectors.
"""

from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from ntpcompanion.checks import Is, Shape, Size, checked
from ntpcompanion.plots.drawing.labels import label_line
from ntpcompanion.plots.drawing.lines import draw_measured, draw_theory
from ntpcompanion.plots.drawing.plot_arguments import Colour, Marker, Series, check_frame
from ntpcompanion.plots.drawing.style import (
    CONTRAST,
    IN_SUPPORT,
    MEASUREMENT,
    OUT_OF_SUPPORT,
    THEORY,
)
from ntpcompanion.validation import as_array, check_probabilities

_REACH = 2.0  # of the axes, to each side


@checked
def draw_share(
    ax: Axes,
    ratio: Series,
    fraction: Series,
    draws: Size,
    *,
    colour: Colour = MEASUREMENT,
    marker: Marker = "o",
) -> Line2D:
    """The fraction of random tables with a property against d/m, with binomial standard errors of
    so many `draws` at each ratio; returns the line that joins the points.
    """
    fraction = np.asarray(fraction, dtype=float)
    ax.errorbar(
        ratio,
        fraction,
        yerr=np.sqrt(fraction * (1 - fraction) / draws),
        color=colour,
        linestyle="none",
        clip_on=False,
    )
    line = draw_measured(ax, ratio, fraction, colour=colour, marker=marker)
    ax.set(xlabel="embedding dimension / contexts, $d/m$", ylabel="fraction of tables", ylim=(0, 1))
    return line


@checked
def draw_verdict_shares(ax: Axes, frame: pd.DataFrame, draws: Size) -> Axes:
    """Shares of compatible, separable and undecided tables against d/m, and the point d = m from
    which Lemma 1 promises both.

    Parameters
    ----------
    ax
        where to draw.
    frame
        one row for each d, with the columns "d/m", "compatible", "separable" and "undecided".
    draws
        how many tables were drawn for each d.

    Returns
    -------
    Axes
        `ax`.
    """
    check_frame("frame", frame, ("d/m", "compatible", "separable", "undecided"))
    lemma = draw_theory(ax, [1, 1], [0, 1])
    label_line(ax, lemma, "$d = m$", index=0, offset=(-4.0, 26.0))
    x = frame["d/m"]
    compatible = draw_share(ax, x, frame["compatible"], draws, colour=IN_SUPPORT, marker="s")
    # above the panel: on a phone there is no room between the two lines
    top = int(np.argmax(frame["compatible"]))
    label_line(ax, compatible, "compatible", index=top, offset=(0.0, 8.0))
    separable = draw_share(ax, x, frame["separable"], draws, colour=MEASUREMENT, marker="o")
    ax.annotate(
        "separable",
        half_way(separable),
        xytext=(9, 0),
        textcoords="offset points",
        color=separable.get_color(),
        va="center",
    )
    undecided = draw_share(ax, x, frame["undecided"], draws, colour=CONTRAST, marker="x")
    label_line(ax, undecided, "undecided", index=5 * len(frame) // 6, offset=(0.0, 8.0))
    return ax


def half_way(line: Line2D) -> tuple[float, float]:
    """Where a line from 0 to 1 over positive x first passes ½, for the label beside it: between the
    last point below ½ and the next, by the geometric mean in x. The first point if all are on one
    side.
    """
    x, y = np.asarray(line.get_xydata()).T
    after = int(np.argmax(y >= 0.5))
    before = max(after - 1, 0)
    return float(np.sqrt(x[before] * x[after])), float((y[before] + y[after]) / 2)


@checked
def draw_excess(ax: Axes, gamma: Series, excess: Series, bound: Series) -> Axes:
    """The loss above the entropy lower bound along W^p + γ W^d, and its explicit bound.

    Parameters
    ----------
    ax
        where to draw; its y axis becomes logarithmic.
    gamma
        the values of γ.
    excess
        the measured excess loss at each of them, in nats: points.
    bound
        the explicit bound, in nats: a line.

    Returns
    -------
    Axes
        `ax`.
    """
    line = draw_theory(ax, gamma, bound)
    points = draw_measured(ax, gamma, excess)
    points.set_linestyle("none")
    middle = len(np.asarray(gamma)) // 2
    label_line(ax, line, "bound", index=middle, offset=(6.0, 6.0))
    label_line(ax, points, "measured", index=middle, offset=(-6.0, -8.0))
    ax.set(yscale="log", xlabel="$\\gamma$", ylabel="excess loss (nats)")
    return ax


@checked
def draw_distributions(ax: Axes, distributions: Annotated[ArrayLike, Shape("m V")]) -> Axes:
    """Next-token distributions as a table of cells, one row for each context.

    A cell of a token that can follow has a solid frame and holds its probability; the others are
    empty, in a dashed frame.

    Parameters
    ----------
    ax
        where to draw.
    distributions
        m × V probabilities, row by row.

    Returns
    -------
    Axes
        `ax`.
    """
    p = as_array("distributions", distributions)
    check_probabilities("distributions", p, p.sum(axis=1))
    for (row, column), probability in np.ndenumerate(p):
        follows = bool(probability > 0)
        colour = IN_SUPPORT if follows else OUT_OF_SUPPORT
        frame = {"linewidth": 1.4} if follows else {"linewidth": 0.8, "linestyle": "--"}
        corner = (column - 0.44, row - 0.44)
        ax.add_patch(Rectangle(corner, 0.88, 0.88, fill=False, edgecolor=colour, **frame))
        if follows:
            text = f"{probability:.2f}".removeprefix("0")
            ax.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
    m, V = p.shape
    ax.set(
        xlim=(-0.5, V - 0.5),
        ylim=(m - 0.5, -0.5),
        xticks=range(V),
        xticklabels=range(1, V + 1),
        yticks=range(m),
        yticklabels=[f"$h_{j}$" for j in range(1, m + 1)],
    )
    ax.set(xlabel="token", ylabel="context")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


@checked
def draw_plane(
    ax: Axes,
    contexts: Annotated[
        ArrayLike,
        Shape("m 2"),
        Is(
            lambda contexts: np.any(contexts, axis=1).all(),
            "have no row of zeros, which has no direction",
            "Leave it out.",
        ),
    ],
    words: Annotated[ArrayLike, Shape("V 2"), Is(np.any, "hold a vector that is not zero")],
) -> Axes:
    """Word vectors in the plane as numbered dots, and the directions of the contexts as arrows.

    Words that coincide (to a hundredth of the longest word vector) share a dot and a label.

    Parameters
    ----------
    ax
        where to draw.
    contexts
        m × 2; each arrow is as long as the longest word vector.
    words
        V × 2.

    Returns
    -------
    Axes
        `ax`.

    Raises
    ------
    ValueError
        matrices without two columns, a context of zeros, no word other than zero.
    """
    contexts, words = as_array("contexts", contexts), as_array("words", words)
    reach = np.linalg.norm(words, axis=1).max()
    for j, h in enumerate(contexts, 1):
        tip = reach * h / np.linalg.norm(h)
        ax.annotate(
            "",
            tip,
            (0, 0),
            arrowprops={"arrowstyle": "->", "color": THEORY, "shrinkA": 0, "shrinkB": 0},
        )
        x, y = 1.18 * tip
        ax.text(x, y, f"$h_{j}$", color=THEORY, ha="center", va="center")
    left = list(range(len(words)))
    while left:
        group = [z for z in left if np.linalg.norm(words[z] - words[left[0]]) < 0.01 * reach]
        left = [z for z in left if z not in group]
        ax.plot(*words[group[0]], "o", color=MEASUREMENT)
        label = ", ".join(str(z + 1) for z in group)
        ax.annotate(
            label, words[group[0]], xytext=(4, 4), textcoords="offset points", color=MEASUREMENT
        )
    ax.set(
        xlim=(-1.4 * reach, 1.4 * reach),
        ylim=(-1.4 * reach, 1.4 * reach),
        aspect="equal",
        xlabel="first coordinate",
    )
    ax.set_ylabel("second coordinate")
    return ax


@checked
def draw_overlap(ax: Axes, overlap: Series, cosine: Series) -> Axes:
    """The cosine of two word vectors against the overlap of the contexts they follow.

    Parameters
    ----------
    ax
        where to draw.
    overlap
        one number in [0, 1] for each pair of words.
    cosine
        one number in [−1, 1] for each pair; a faint dot each.

    Returns
    -------
    Axes
        `ax`.
    """
    ax.plot(
        overlap,
        cosine,
        "o",
        color=MEASUREMENT,
        markersize=3,
        alpha=0.6,
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


def draw_decoder_parts(
    ax: Axes, scale: ArrayLike, gamma: ArrayLike, excess: ArrayLike, position: float
) -> Axes:
    """The excess loss of s W* + γ W^mm as level lines, one for each power of ten, and the two
    orthogonal components of one decoder as arrows.

    Parameters
    ----------
    ax
        where to draw.
    scale
        (a,): factors of W*, the horizontal axis: the component in F.
    gamma
        (g,): factors of W^mm, the vertical axis: the component orthogonal to F.
    excess
        (g, a): the excess loss in nats, positive.
    position
        the factor of W^mm of the decoder W* + γ W^mm that is drawn.

    Returns
    -------
    Axes
        `ax`.
    """
    powers = np.log10(np.asarray(excess, dtype=float))
    levels = np.arange(np.ceil(powers.min()), np.floor(powers.max()) + 1)
    lines = ax.contour(scale, gamma, powers, levels, colors=THEORY, linewidths=0.7, linestyles="-")
    ax.clabel(lines, levels[-2:-1], fmt="$10^{%d}$", fontsize=8)
    for start, tip, colour in (
        ((0, 0), (1, 0), IN_SUPPORT),
        ((1, 0), (1, position), OUT_OF_SUPPORT),
    ):
        arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", tip, start, arrowprops=arrow, annotation_clip=False)
    ax.set(xlabel="in $F$: $s\\,W^\\star$", ylabel="orthogonal to $F$: $\\gamma\\,W^{mm}$")
    return ax


def draw_prediction(ax: Axes, predicted: ArrayLike, target: ArrayLike) -> Axes:
    """Predicted probabilities of the next token as bars, blue for tokens that can follow and orange
    for the others, and the probabilities of the text as short lines.

    Parameters
    ----------
    ax
        where to draw.
    predicted
        (V,) probabilities of the decoder.
    target
        (V,) probabilities of the text; zero where the token cannot follow.

    Returns
    -------
    Axes
        `ax`.
    """
    p, q = np.asarray(target, dtype=float), np.asarray(predicted, dtype=float)
    tokens = np.arange(1, p.size + 1)
    colours = [IN_SUPPORT if follows else OUT_OF_SUPPORT for follows in p > 0]
    # pale inside, so that the lines across them are seen in both themes
    pale = [to_rgba(colour, 0.4) for colour in colours]
    ax.bar(tokens, q, 0.62, color=pale, edgecolor=colours, linewidth=1)
    ax.hlines(p, tokens - 0.42, tokens + 0.42, color=THEORY, linewidth=1.6)
    ax.set(xticks=tokens, xlabel="next word", ylabel="probability", ylim=(0, None))
    return ax


def draw_cone(
    ax: Axes,
    direction: ArrayLike,
    *,
    colour: str = MEASUREMENT,
    certificate: ArrayLike | None = None,
) -> Axes:
    """The line of margins that decoders reach, in the plane of two margins, beside the cone where
    both are positive.

    The table is separable if the line meets the inside of the cone. If it does not, some vector
    without negative entries is orthogonal to the line: the certificate.

    Parameters
    ----------
    ax
        where to draw.
    direction
        (2,): the decoders that satisfy the ties have the margins t · direction, for real t.
    colour
        of the line.
    certificate
        (2,): drawn as an arrow from the origin, one unit long; None for a separable table.

    Returns
    -------
    Axes
        `ax`.
    """
    cone = Rectangle((0, 0), _REACH, _REACH, facecolor=THEORY, alpha=0.2, linewidth=0)
    ax.add_patch(cone)
    ax.axhline(0, color=THEORY, linewidth=0.6)
    ax.axvline(0, color=THEORY, linewidth=0.6)
    toward = np.asarray(direction, dtype=float)
    ends = _REACH * np.array([[-1.0], [1.0]]) * toward / np.abs(toward).max()
    ax.plot(*ends.T, color=colour)
    corner: dict[str, Any] = {"ha": "left", "va": "top", "fontsize": "small"}
    ax.text(0.04 * _REACH, 0.97 * _REACH, "both\npositive", **corner)
    if certificate is not None:
        tip = np.asarray(certificate, dtype=float)
        tip = tip / np.linalg.norm(tip)
        arrow = {"arrowstyle": "->", "color": THEORY, "shrinkA": 0, "shrinkB": 0, "lw": 1.4}
        ax.annotate("", tuple(tip), (0, 0), arrowprops=arrow)
        ax.text(0.97 * _REACH, 0.04 * _REACH, "certificate", ha="right", va="bottom")
    ax.set(xlim=(-_REACH, _REACH), ylim=(-_REACH, _REACH), aspect="equal")
    ax.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1))
    return ax
