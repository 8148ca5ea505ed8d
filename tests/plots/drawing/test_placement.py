from itertools import combinations

import numpy as np
import pytest
from matplotlib.text import Text
from scipy import optimize

from ntpcompanion.plots.drawing.placement import label_points, spread


def boxes(labels):
    """Of the texts, without the lines to their points."""
    for label in labels:
        label.get_window_extent()  # moves the text to where it is drawn
    return [Text.get_window_extent(label) for label in labels]


def test_labels_cover_neither_the_data_nor_each_other(ax, rng):
    ax.set(xlim=(0, 1), ylim=(0, 1))
    data = rng.normal(0.5, 0.05, (60, 2))
    anchors = [data[k : k + 2] for k in range(5)]
    texts = [f"the label number {k}" for k in range(5)]
    labels = label_points(ax, anchors, texts, ["red"] * 5, data)
    assert [label.get_text() for label in labels] == texts
    assert not any(one.overlaps(other) for one, other in combinations(boxes(labels), 2))
    pixels = ax.transData.transform(data)
    assert not any(box.count_contains(pixels) for box in boxes(labels))
    frame = ax.get_window_extent()
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes(labels))


def test_a_label_alone_stands_beside_its_point_without_a_line(ax):
    ax.set(xlim=(0, 1), ylim=(0, 1))
    (label,) = label_points(ax, [[[0.5, 0.5]]], ["here"], ["red"], [[0.5, 0.5]])
    assert (label.xy, label.arrow_patch, label.get_color()) == ((0.5, 0.5), None, "red")
    assert np.hypot(*label.get_position()) == pytest.approx(8)


def test_a_label_away_from_its_point_has_a_line(ax):
    """The point is surrounded by others, for more than the nearest distance."""
    ax.set(xlim=(0, 1), ylim=(0, 1))
    around = np.stack(np.meshgrid(np.linspace(0.45, 0.55, 20), np.linspace(0.4, 0.6, 20)), -1)
    (label,) = label_points(ax, [[[0.5, 0.5]]], ["here"], ["red"], around.reshape(-1, 2))
    assert label.arrow_patch is not None
    assert not boxes([label])[0].count_contains(ax.transData.transform(around.reshape(-1, 2)))


def test_spread_labels_are_the_nearest_at_a_distance(rng):
    for _ in range(5):
        wanted = rng.uniform(0, 1, 6)
        order = np.argsort(wanted)
        apart = {"type": "ineq", "fun": lambda x, order=order: np.diff(x[order]) - 0.2}
        best = optimize.minimize(
            lambda x, wanted=wanted: np.square(x - wanted).sum(),
            np.argsort(order) * 0.2,
            constraints=apart,
            options={"ftol": 1e-14},
        )
        assert spread(wanted, 0.2) == pytest.approx(best.x, abs=1e-5)


def test_labels_far_apart_stay():
    assert spread([3.0, 1.0, 2.0], 0.5).tolist() == [3.0, 1.0, 2.0]
    assert spread([1.0, 1.0], 0.5).tolist() == [0.75, 1.25]


def test_a_line_to_a_point_crosses_no_other_label(ax):
    """The second point lies below a wall of data; straight up its line would cross the first."""
    ax.set(xlim=(0, 1), ylim=(0, 1))
    wall = np.stack(np.meshgrid(np.linspace(0, 1, 200), np.linspace(0.3, 0.5, 20)), -1)
    points = [[[0.5, 0.5]], [[0.5, 0.42]]]
    labels = label_points(ax, points, ["the first", "other"], ["red"] * 2, wall.reshape(-1, 2))
    first, second = boxes(labels)
    start, end = ax.transData.transform(labels[1].xy), [second.x0 + second.width / 2, second.y0]
    along = start + np.linspace(0, 1, 50)[:, None] * (end - start)
    assert labels[1].arrow_patch is not None
    assert not first.count_contains(along)


@pytest.mark.parametrize("seed", range(12))
def test_no_line_crosses_a_label_that_was_placed_before_it(ax, seed):
    """Unless its point lies below one; and but for a corner, as the line is looked at in ten
    points. Without a price for crossings, lines cross labels with several of these seeds.
    """
    rng = np.random.default_rng(seed)
    ax.figure.set_size_inches(3, 2)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    cloud, points = rng.uniform(0.1, 0.9, (150, 2)), rng.uniform(0.35, 0.65, (4, 1, 2))
    labels = label_points(ax, list(points), [f"label {k}" for k in range(4)], ["red"] * 4, cloud)
    placed = boxes(labels)
    for k, label in enumerate(labels):
        if label.arrow_patch is not None:
            start = ax.transData.transform(label.xy)
            reach = np.array(label.get_position()) * ax.figure.dpi / 72
            line = start + np.linspace(0, 1, 100)[:, None] * reach
            inside = [
                box.count_contains(line) for box in placed[:k] if not box.padded(3).contains(*start)
            ]
            assert max(inside, default=0) / 100 * np.hypot(*reach) < 8  # pixels
