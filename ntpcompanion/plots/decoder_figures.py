"""Decoders of a table in pictures: their component in F, which matches log-odds, and the orthogonal
one, which separates; the margins that they reach, and the cone where all margins are positive.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from ntpcompanion.plots.drawing.style import IN_SUPPORT, MEASUREMENT, OUT_OF_SUPPORT, THEORY

_REACH = 2.0  # of the axes, to each side


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
