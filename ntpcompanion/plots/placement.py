"""Where labels stand so that they cover neither the data nor each other."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox, BboxBase
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
        taken: list[Bbox] = []
        self.labels = []
        for points, text, colour in self.wanted:
            places = product(np.asarray(points, dtype=float), _DISTANCES, _ANGLES)
            label, box, leader = _cheapest(ax, list(places), text, colour, covered, taken)
            self.labels.append(label)
            taken.append(box)
            covered = np.concatenate([covered, leader])


def _cheapest(
    ax: Axes,
    places: list[tuple[Any, float, float]],
    text: str,
    colour: str,
    covered: np.ndarray,
    taken: list[Bbox],
) -> tuple[Annotation, Bbox, np.ndarray]:
    """The label where it costs least, its box and points along its leader, both in pixels."""
    sample = _annotate(ax, *places[0], text, colour)
    extent = sample.get_window_extent()
    sample.remove()
    boxes = [_box(ax, *place, extent.width, extent.height) for place in places]
    frame = ax.get_window_extent()
    leaders = [_leader(ax, *place) for place in places]
    costs = [
        _cost(*pair, frame, covered, taken) + distance / 60
        for pair, (_, distance, _) in zip(zip(boxes, leaders, strict=True), places, strict=True)
    ]
    best = int(np.argmin(costs))
    return _annotate(ax, *places[best], text, colour), boxes[best], leaders[best]


def _cost(
    box: Bbox, leader: np.ndarray, frame: BboxBase, covered: np.ndarray, taken: list[Bbox]
) -> float:
    outside = box.x0 < frame.x0 or box.x1 > frame.x1 or box.y0 < frame.y0 or box.y1 > frame.y1
    crossed = sum(other.count_contains(leader) > 0 for other in taken)
    overlaps = outside + crossed + sum(map(box.overlaps, taken))
    return 1000.0 * overlaps + float(box.count_contains(covered))


def _leader(ax: Axes, point: np.ndarray, distance: float, angle: float) -> np.ndarray:
    """Points along the line from a label to its point, in pixels; none where it has none."""
    if distance < _LEADER:
        return np.empty((0, 2))
    reach = ax.figure.dpi / 72 * np.linspace(3, distance, 10)
    return ax.transData.transform(point) + reach[:, None] * _direction(angle)


def _box(
    ax: Axes, point: np.ndarray, distance: float, angle: float, width: float, height: float
) -> Bbox:
    """The label in pixels: the end of its leader lies on the side that faces the point."""
    per_point = ax.figure.dpi / 72
    x, y = ax.transData.transform(point) + per_point * distance * _direction(angle)
    left, bottom = x - width * _share(angle)[0], y - height * _share(angle)[1]
    return Bbox.from_bounds(left, bottom, width, height).padded(_MARGIN)


def _annotate(
    ax: Axes, point: np.ndarray, distance: float, angle: float, text: str, colour: str
) -> Annotation:
    across, up = _share(angle)
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


def _share(angle: float) -> tuple[float, float]:
    """Which share of the label lies left of and below the end of its leader: 0, .5 or 1."""
    across, up = np.round(1.2 * _direction(angle))  # eight sides
    return (1 - across) / 2, (1 - up) / 2


def spread(positions: ArrayLike, gap: float) -> np.ndarray:
    """Positions of labels along a line, each as near to its own as the distance between them
    allows.

    Parameters
    ----------
    positions
        (n,): where each label would stand alone.
    gap
        the smallest distance between two labels.

    Returns
    -------
    ndarray
        (n,): in the order given. Their order along the line is kept, neighbours are at least `gap`
        apart, and the sum of squared displacements is as small as this allows.
    """
    wanted = np.asarray(positions, dtype=float)
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    found = np.empty_like(wanted)
    found[order] = _increasing(wanted[order] - steps) + steps
    return found


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
