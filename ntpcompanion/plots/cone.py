"""Why a table is separable or not: the margins that decoders reach, and the cone where all margins
are positive.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from ntpcompanion.plots.drawing.style import MEASUREMENT, THEORY

_REACH = 2.0  # of the axes, to each side


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
