"""A loss in two parameters, and a path along its valley."""

from collections.abc import Callable

import numpy as np
import torch
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from torch import Tensor

from ntpcompanion.plots.style import CONTRAST, THEORY


def draw_valley(
    ax: Axes,
    excess: Callable[[Tensor], Tensor],
    path: ArrayLike,
    reach: tuple[float, float, float, float],
) -> Axes:
    """Lines of equal excess loss in two parameters, and a path.

    Parameters
    ----------
    ax
        where to draw.
    excess
        the excess loss in nats at each row of an (n, 2) tensor of parameters, as n numbers. It is
        drawn at the levels 1e-4 to 0.1, by half powers of ten.
    path
        (steps, 2): the parameters along the path.
    reach
        the ends of the axes: left, right, bottom, top.

    Returns
    -------
    Axes
        `ax`.
    """
    left, right, bottom, top = reach
    across, up = np.linspace(left, right, 90), np.linspace(bottom, top, 90)
    points = torch.tensor(np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2))
    levels = 10.0 ** np.arange(-4, -0.9, 0.5)
    ax.contour(across, up, excess(points).reshape(90, 90), levels, colors=THEORY, linewidths=0.5)
    ax.plot(*np.asarray(path).T, color=CONTRAST, linewidth=2)
    ax.set(xlabel="$a$", ylabel="$b$", xlim=(left, right), ylim=(bottom, top))
    return ax
