"""Where labels stand so that they cover neither the data nor each other."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.text import Annotation
from numpy.typing import ArrayLike

_DISTANCES = (8.0, 16.0, 26.0, 38.0, 52.0)  # of a label from its point, in points (1/72 inch)
_ANGLES = np.arange(16) * np.pi / 8
_LEADER = 12.0  # from this distance on a thin line leads to the point
_MARGIN = 3.0  # in pixels around a label


def label_points(
    ax: Axes,
    anchors: Sequence[ArrayLike],
    texts: Sequence[str],
    colours: Sequence[str],
    avoid: ArrayLike,
) -> list[Annotation]:
    """Write each label beside one of its points, where it covers least.

    The labels are placed one after the other, each at the cheapest of the positions around its
    points: covering an earlier label or leaving the panel costs most, then covering points of the
    data, then distance. A label that is not next to its point has a thin line to it. Set the limits
    of the axes before.

    Parameters
    ----------
    ax
        the panel.
    anchors
        for each label an (n, 2) array of the points beside which it may stand.
    texts, colours
        of each label.
    avoid
        (m, 2): points of the data that should not be covered.

    Returns
    -------
    list of Annotation
        the labels, in the order given.
    """
    placed = PlacedLabels(anchors, texts, colours, avoid)
    ax.add_artist(placed)
    placed.place()
    return placed.labels


class PlacedLabels(Artist):
    """The labels of a panel, and what is needed to place them again when the panel's size changes.

    Draws nothing itself.
    """

    def __init__(
        self,
        anchors: Sequence[ArrayLike],
        texts: Sequence[str],
        colours: Sequence[str],
        avoid: ArrayLike,
    ) -> None:
        super().__init__()
        self.set_in_layout(False)
        self.wanted = list(zip(anchors, texts, colours, strict=True))
        self.avoid = np.asarray(avoid, dtype=float).reshape(-1, 2)
        self.labels: list[Annotation] = []

    def draw(self, renderer: RendererBase) -> None:
        """Nothing: the labels are artists of their own."""

    def place(self) -> None:
        """Place all labels anew, for the present size of the panel."""
        for label in self.labels:
            label.remove()
        ax: Any = self.axes  # set by then
        ax.figure.draw_without_rendering()  # settles the layout: pixels are meant from here on
        covered = ax.transData.transform(self.avoid)
        taken = np.empty((0, 4))
        self.labels = []
        for points, text, colour in self.wanted:
            anchors = np.asarray(points, dtype=float).reshape(-1, 2)
            label, box, leader = _cheapest(ax, anchors, text, colour, covered, taken)
            self.labels.append(label)
            taken = np.vstack([taken, box])
            covered = np.vstack([covered, leader])


def _cheapest(
    ax: Axes,
    anchors: np.ndarray,
    text: str,
    colour: str,
    covered: np.ndarray,
    taken: np.ndarray,
) -> tuple[Annotation, np.ndarray, np.ndarray]:
    """The label where it costs least, its box and points along its leader, both in pixels.

    A box is (left, bottom, right, top).
    """
    candidates = list(product(anchors, _DISTANCES, _ANGLES))
    sample = _annotate(ax, *candidates[0], text, colour)
    extent = sample.get_window_extent()
    sample.remove()
    boxes, leaders = _around(ax, anchors, np.array([extent.width, extent.height]))
    frame = ax.get_window_extent()
    outside = ((boxes[:, :2] < frame.min) | (boxes[:, 2:] > frame.max)).any(1)
    crossed = _inside(taken, leaders.reshape(-1, 2)).reshape(len(taken), *leaders.shape[:2])
    met = (boxes[:, None, :2] <= taken[:, 2:]) & (taken[:, :2] <= boxes[:, None, 2:])
    overlaps = outside + crossed.any(2).sum(0) + met.all(2).sum(1)
    distances = np.array([distance for _, distance, _ in candidates])
    costs = 1000.0 * overlaps + _inside(boxes, covered).sum(1) + distances / 60
    best = int(np.argmin(costs))
    return _annotate(ax, *candidates[best], text, colour), boxes[best], leaders[best]


def _around(ax: Axes, anchors: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The boxes of a label of this size at all places, and 10 points along each leader: not numbers
    where there is none. The end of a leader lies on the side of the box that faces the point.
    """
    points = ax.transData.transform(anchors)[:, None, None]  # then distances, then angles
    per_point, distances = ax.figure.dpi / 72, np.array(_DISTANCES)
    directions, fractions = (
        np.array([of(angle) for angle in _ANGLES]) for of in (_direction, _fractions_before)
    )
    ends = points + per_point * distances[:, None, None] * directions
    low = ends - size * fractions
    boxes = np.concatenate([low - _MARGIN, low + size + _MARGIN], axis=-1)
    reach = per_point * np.linspace(3, distances, 10, axis=-1)
    leaders = points[..., None, :] + reach[:, None, :, None] * directions[:, None]
    leaders[:, distances < _LEADER] = np.nan
    return boxes.reshape(-1, 4), leaders.reshape(-1, 10, 2)


def _inside(boxes: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Which points each box contains, a row for each box."""
    return np.all((boxes[:, None, :2] < points) & (points < boxes[:, None, 2:]), axis=2)


def _annotate(
    ax: Axes, point: np.ndarray, distance: float, angle: float, text: str, colour: str
) -> Annotation:
    across, up = _fractions_before(angle)
    leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 3}
    return ax.annotate(
        text,
        tuple(point),
        xytext=tuple(distance * _direction(angle)),
        textcoords="offset points",
        color=colour,
        ha=("left", "center", "right")[round(2 * across)],
        va=("bottom", "center", "top")[round(2 * up)],
        arrowprops=leader if distance >= _LEADER else None,
    )


def _direction(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle)])


def _fractions_before(angle: float) -> tuple[float, float]:
    """Which fraction of the label lies left of and below the end of its leader: 0, .5 or 1."""
    across, up = np.round(1.2 * _direction(angle))  # eight sides
    return (1 - across) / 2, (1 - up) / 2


def spread(positions: ArrayLike, gap: float) -> np.ndarray:
    """Positions of labels along a line, in the order of the arguments: neighbours are at least
    `gap` apart, and the sum of squared displacements from `positions` is as small as this allows.
    """
    wanted = np.asarray(positions, dtype=float)
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    shifted = np.empty_like(wanted)
    shifted[order] = _increasing(wanted[order] - steps) + steps
    return shifted


def _increasing(values: np.ndarray) -> np.ndarray:
    """The nearest non-decreasing sequence, by pooling adjacent violators."""
    blocks: list[list[float]] = []  # sum and length
    for value in values:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] > blocks[-1][0] * blocks[-2][1]:
            total, length = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += length
    return np.concatenate([np.full(int(n), total / n) for total, n in blocks])
