"""A decoder as the sum of its component in F, which matches log-odds, and the orthogonal one, which
separates.
"""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from numpy.typing import ArrayLike

from ntpcompanion.plots.drawing.style import IN_SUPPORT, OUT_OF_SUPPORT, THEORY


def draw_decoder_parts(
    ax: Axes, scale: ArrayLike, gamma: ArrayLike, excess: ArrayLike, at: float
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
    at
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
    for start, tip, colour in (((0, 0), (1, 0), IN_SUPPORT), ((1, 0), (1, at), OUT_OF_SUPPORT)):
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
