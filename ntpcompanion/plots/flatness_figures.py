"""A loss in two parameters: the walls of its valley, and the force that pushes along it."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import torch
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from torch import Tensor
from torch.func import grad, jacrev, vmap

from ntpcompanion.checks import Is, Positive, Shape, checked
from ntpcompanion.plots.drawing.style import CONTRAST, MEASUREMENT, THEORY
from ntpcompanion.validation import as_array, described

GRID = 200  # points of a map along each axis
FLOOR, BAND, WALL = 2e-5, 1e-2, 1e-1  # excess loss in nats: the line of the valley, band, a wall
COVERED = 0.9  # of the distance to the valley: how far the longest force is drawn


@checked
def draw_valley(
    ax: Axes,
    excess: Callable[[Tensor], Tensor],
    path: Annotated[ArrayLike, Shape("steps 2")] | None,
    reach: Annotated[
        tuple[float, float, float, float],
        Is(
            lambda ends: ends[0] < ends[1] and ends[2] < ends[3],
            "be left < right, bottom < top",
        ),
    ],
) -> Axes:
    """The valley of a loss in two parameters, with the band of small excess around it, and a path.

    Parameters
    ----------
    ax
        where to draw.
    excess
        the excess loss in nats at each row of an (n, 2) tensor of parameters, as n numbers. The
        valley is where it is below 2e-5, the band where it is below 0.01; a line marks 0.1.
    path
        (steps, 2): the parameters along the path, or None for no path.
    reach
        the ends of the axes: left, right, bottom, top.

    Returns
    -------
    Axes
        `ax`.

    Raises
    ------
    ValueError
        an excess loss that does not give one number for each row of parameters, a path or ends of
        the axes of another shape.
    """
    left, right, bottom, top = reach
    across, up = np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
    points = torch.tensor(np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2))
    heights = excess(points)
    if not isinstance(heights, Tensor) or heights.shape != (GRID**2,):
        raise ValueError(
            f"`excess` must give a tensor of {GRID**2} numbers for ({GRID**2}, 2) parameters, got "
            f"{described(heights)}."
        )
    heights = heights.detach().cpu().reshape(GRID, GRID).numpy()
    ax.contourf(across, up, heights, [0, BAND], colors=THEORY, alpha=0.18)
    ax.contourf(across, up, heights, [0, FLOOR], colors=THEORY)
    ax.contour(across, up, heights, [BAND, WALL], colors=THEORY, linewidths=0.5)
    if path is not None:
        ax.plot(*as_array("path", path).T, color=CONTRAST, linewidth=2.5)
    ax.set(xlabel="$a$", ylabel="$b$", xlim=(left, right), ylim=(bottom, top))
    return ax


@checked
def draw_forces(
    ax: Axes,
    excess: Callable[[Tensor], Tensor],
    minimizers: Annotated[ArrayLike, Shape("n 2")],
    *,
    distance: Positive,
    enlarged: float,
) -> Axes:
    """The force −∇L at pairs of points on both sides of a valley, and what is left of a pair along
    the valley: it points to where the walls are less steep.

    Parameters
    ----------
    ax
        where to draw, in the two parameters.
    excess
        the excess loss at each row of an (n, 2) tensor, twice differentiable.
    minimizers
        (n, 2): points of the valley, with one direction of zero curvature.
    distance
        from a minimizer to the two points beside it, along the direction of largest curvature.
    enlarged
        how many times longer the mean of a pair along the valley is drawn than the forces.

    Returns
    -------
    Axes
        `ax`. The forces are in units in which the longest covers 0.9 of the distance.

    Raises
    ------
    ValueError
        an excess without slope at that distance.
    """
    feet = torch.tensor(as_array("minimizers", minimizers))
    slope = grad(lambda point: excess(point[None])[0])
    axes = torch.linalg.eigh(vmap(jacrev(slope))(feet)).eigenvectors
    along, across = axes[..., 0], axes[..., 1]
    sides = [feet + side * distance * across for side in (1, -1)]
    forces = [-vmap(slope)(points) for points in sides]
    mean = sum(forces) / 2
    left_over = enlarged * (mean * along).sum(1, keepdim=True) * along
    longest = max(float(force.norm(dim=1).max()) for force in forces)
    if not longest > 0:
        raise ValueError(
            f"`excess` has no slope at `distance` = {distance:g} from `minimizers`. Take points of "
            "a valley with walls."
        )
    unit = COVERED * distance / longest
    look: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1}
    for points, force in zip(sides, forces, strict=True):
        ax.quiver(*points.T, *(unit * force).T, color=MEASUREMENT, width=0.006, **look)
    ax.quiver(*feet.T, *(unit * left_over).T, color=CONTRAST, width=0.012, zorder=3, **look)
    return ax
