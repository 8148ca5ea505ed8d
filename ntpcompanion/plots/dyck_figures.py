"""Neurons of the bracket language: what they contribute, where they meet a kink, and how fast a new
head on them learns.
"""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from numpy.typing import ArrayLike

from ntpcompanion.checks import Is, Positive, Shape, checked
from ntpcompanion.dyck.bracket_counting import LearningCurve
from ntpcompanion.plots.drawing.plot_arguments import Series
from ntpcompanion.plots.drawing.style import CONTRAST, MEASUREMENT, THEORY
from ntpcompanion.validation import as_array

Table = Annotated[ArrayLike, Shape("N m")]  # a row for each input, a column for each neuron
LARGEST_DOT = 260  # square points: a pre-activation that all inputs share


@checked
def draw_learning(
    ax: Axes,
    curves: Annotated[
        Mapping[str, LearningCurve],
        Is(lambda curves: 1 <= len(curves) <= 5, "hold 1 … 5 learning curves"),
    ],
) -> Axes:
    """The downstream error of a new head against the number of strings to which it is fitted.

    Parameters
    ----------
    ax
        where to draw.
    curves
        up to five, by name. The first has the colour of a measurement, the others that of what it
        is compared with, and a marker each; bars are two standard errors.

    Returns
    -------
    Axes
        `ax`, with a legend.

    Raises
    ------
    ValueError
        what is not a dict of one to five learning curves.
    """
    for number, ((name, curve), marker) in enumerate(zip(curves.items(), "osD^v", strict=False)):
        colour = CONTRAST if number else MEASUREMENT
        look = {"fmt": f"{marker}-", "color": colour, "linewidth": 0.8, "markersize": 4}
        ax.errorbar(curve.sizes, curve.error, 2 * curve.error_stderr, label=name, **look)
    ax.set(xscale="log", yscale="log", ylim=(1e-4, 3))
    ax.set(xlabel="strings $n$", ylabel="downstream error / variance")
    ax.set_xticks(curve.sizes, map(str, curve.sizes))
    ax.minorticks_off()
    ax.legend(loc="lower left", fontsize=8.5)
    return ax


@checked
def draw_contributions(ax: Axes, contributions: Table, kinks: Table, largest: Positive) -> Axes:
    """What every neuron adds to the output on every input, as a table of colours, with the kinks.

    Parameters
    ----------
    ax
        where to draw.
    contributions
        c_j σ(v_j·z): a row for each input, a column for each neuron. Positive and negative numbers
        have a colour each, paler the smaller they are; zero is empty.
    kinks
        (N, m), whether the pre-activation v_j·z is zero: these entries get a dot.
    largest
        the absolute contribution of full colour.

    Returns
    -------
    Axes
        `ax`, with the neurons numbered from 1.
    """
    contributions = as_array("contributions", contributions)
    # the root keeps small contributions visible on a dark page
    strength = np.sqrt(np.clip(np.abs(contributions) / largest, 0, 1))
    image = np.where(
        (contributions > 0)[..., None], np.array(to_rgb(MEASUREMENT)), np.array(to_rgb(CONTRAST))
    )
    image = np.concatenate([image, strength[..., None]], axis=-1)
    ax.imshow(image, aspect="auto", interpolation="none")
    row, column = np.nonzero(as_array("kinks", kinks))
    ax.plot(column, row, ".", color=THEORY, markersize=2)
    neurons = range(contributions.shape[1])
    ax.set(xticks=neurons, xticklabels=[str(j + 1) for j in neurons], yticks=[], xlabel="neuron")
    return ax


@checked
def draw_preactivations(ax: Axes, values: Table) -> Axes:
    """The ReLU, and below it the pre-activations of each neuron on equally likely inputs.

    Parameters
    ----------
    ax
        where to draw.
    values
        (N, m), v_j·z for input z and neuron j. Every value that a neuron takes is a dot, whose
        area is the fraction of the inputs that share it; those at zero, the kink, have a colour of
        their own.

    Returns
    -------
    Axes
        `ax`, with a row for each neuron, the first on top.
    """
    values = as_array("values", values)
    reach = float(np.abs(values).max()) + 0.5
    ax.plot([-reach, 0, reach], [0, 0, reach], color=THEORY, linewidth=1.6)
    ax.axvline(0, color=THEORY, linewidth=1, linestyle=":")
    heights = [-0.9 * (j + 1) for j in range(values.shape[1])]
    for height, column in zip(heights, values.T, strict=True):
        levels, counts = np.unique(column, return_counts=True)
        sizes = LARGEST_DOT * counts / len(column)
        colours = [CONTRAST if value == 0 else MEASUREMENT for value in levels]
        ax.scatter(levels, np.full(len(levels), height), sizes, colours, zorder=3)
    names = [f"neuron {j + 1}" for j in range(values.shape[1])]
    ax.set_yticks([*heights, 0, reach - 0.5], [*names, "0", f"{reach - 0.5:g}"])
    ax.set(xlabel="pre-activation", xlim=(-reach, reach), ylim=(heights[-1] - 0.7, reach))
    return ax


@checked
def draw_two_curvatures(
    ax: Axes, steps: Series, losses: Series, sides: tuple[float, float]
) -> Axes:
    """A loss along a line on which its curvature depends on the side, and the parabola of each
    side.

    Parameters
    ----------
    ax
        where to draw.
    steps, losses
        the loss after steps of either sign from a minimizer of loss zero.
    sides
        the second derivatives at zero, from the side of negative steps and from that of positive
        ones. Each parabola is continued, dashed, to the side where the loss leaves it.

    Returns
    -------
    Axes
        `ax`.
    """
    reach = np.abs(np.asarray(steps)).max()
    for sign, curvature in zip((-1, 1), sides, strict=True):
        for side, style in ((sign, "-"), (-sign, "--")):
            x = np.linspace(0, side * reach, 40)
            ax.plot(x, curvature / 2 * x**2, style, color=THEORY, linewidth=1)
    ax.plot(steps, losses, "o", color=MEASUREMENT, markersize=4)
    ax.set(xlabel="step along the line", ylabel="loss", ylim=(0, None))
    return ax
