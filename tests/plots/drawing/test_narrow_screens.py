from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from ntpcompanion import plots
from ntpcompanion.plots.drawing import narrow_screens
from ntpcompanion.plots.drawing.placement import label_points

LONG = "a long description of what is measured here, with its unit (nats per token)"


def inside(fig):
    """Whether all that is drawn lies on the canvas, up to a pixel."""
    fig.draw_without_rendering()
    box, canvas = fig.get_tightbbox(), fig.get_size_inches()
    return min(box.x0, box.y0) > -0.02 and box.x1 < canvas[0] + 0.02 and box.y1 < canvas[1] + 0.02


def test_panels_stand_below_each_other_in_their_order():
    fig, panels = plots.figure(3, height=2.0)
    for panel in panels:
        panel.plot([0, 1])
    with narrow_screens.narrowed(fig):
        assert tuple(fig.get_size_inches()) == (3.4, 6.0)
        fig.draw_without_rendering()
        boxes = [panel.get_position() for panel in panels]
        assert all(upper.y0 > lower.y1 for upper, lower in pairwise(boxes))
        assert len({round(box.width, 3) for box in boxes}) == 1


def state(fig):
    fig.draw_without_rendering()
    texts = [text.get_text() for text in fig.findobj(mpl.text.Text)]
    places = np.concatenate([ax.get_position().bounds for ax in fig.axes])
    return tuple(fig.get_size_inches()), texts, places


@pytest.fixture
def crowded():
    """Everything that the narrow layout changes in one figure."""
    fig, (left, right) = plots.figure(2, height=2.4)
    left.plot([0, 1], label="measured")
    left.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    left.set(title=LONG[:55], xlabel=LONG[:58], ylabel=LONG[:40])
    right.imshow(np.eye(2))
    right.set_yticks([0, 1], ["a long name", "short"])
    right.set_xticks([0, 0.5, 1], ["one long name", "another name", "a third name"])
    fig.colorbar(right.images[0])
    for name in ("the first of the series", "the second one", "the third one"):
        right.plot([], [], label=name)
    fig.legend(loc="outside upper center", ncols=3)
    return fig


def test_afterwards_the_figure_is_as_before(crowded):
    size, texts, places = state(crowded)
    with narrow_screens.narrowed(crowded):
        assert state(crowded)[1] != texts
    again = state(crowded)
    assert again[:2] == (size, texts)
    # a second layout of one figure may differ from the first by as much
    assert again[2] == pytest.approx(places, abs=0.02)


def test_the_narrow_version_leaves_nothing_outside(crowded):
    with narrow_screens.narrowed(crowded):
        assert inside(crowded)
        assert crowded.legends[0].get_window_extent().width < crowded.bbox.width


def test_labels_are_broken_between_words_and_formulas_stay_whole():
    assert (
        narrow_screens._broken("norm of $W_k - W^\\star$ (nats)", 2)
        == "norm of\n$W_k - W^\\star$ (nats)"
    )
    assert narrow_screens._broken("one", 3) == "one"
    assert narrow_screens._broken("one two three four", 2) == "one two\nthree four"


def test_tick_labels_that_would_touch_are_turned(ax):
    rates = [0.001, 0.002, 0.003, 0.005, 0.007, 0.01, 0.02, 0.03]
    plots.rate_axis(ax, rates)
    with narrow_screens.narrowed(ax.figure):
        assert {label.get_rotation() for label in ax.get_xticklabels()} == {45.0}
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {0.0}


def test_placed_labels_are_placed_for_the_narrow_panel(ax, rng):
    ax.set(xlim=(0, 1), ylim=(0, 1))
    data = rng.uniform(0, 1, (30, 2))
    points, texts = [data[:10], data[10:20]], ["one of the labels", "another one"]
    before = [label.get_position() for label in label_points(ax, points, texts, ["red"] * 2, data)]

    def found():
        return [text for text in ax.texts if text.get_text()]

    with narrow_screens.narrowed(ax.figure):
        frame = ax.get_window_extent()
        for label in found():
            label.get_window_extent()  # moves the text to where it is drawn
            box = mpl.text.Text.get_window_extent(label)
            assert frame.x0 <= box.x0
            assert box.x1 <= frame.x1
    assert [label.get_text() for label in found()] == texts
    assert [label.get_position() for label in found()] == before


def test_the_forest_of_comparisons_fits(ax):
    table = pd.DataFrame(
        {"label": [LONG[:35], "short"], "paper": [1.0, np.nan], "value": [0.5, 1.0]}
    )
    table = table.assign(low=table["value"] - 0.2, high=table["value"] + 0.2, delta=[0.3, 0.3])
    plots.draw_comparisons(ax, table)
    with narrow_screens.narrowed(ax.figure):
        assert inside(ax.figure)
        assert ax.get_window_extent().width > 0.22 * ax.figure.bbox.width


def test_a_grid_of_panels_keeps_its_rows():
    fig, panels = mpl.pyplot.subplots(2, 1, figsize=(6.5, 4))
    with narrow_screens.narrowed(fig):
        assert tuple(fig.get_size_inches()) == (3.4, 4.0)
        assert [ax.get_subplotspec().num1 for ax in panels] == [0, 1]


def test_a_figure_without_panels_is_only_made_narrower():
    fig = mpl.pyplot.figure(figsize=(6.5, 2))
    fig.text(0.5, 0.5, "nothing")
    with narrow_screens.narrowed(fig):
        assert tuple(fig.get_size_inches()) == (3.4, 2.0)


def test_a_narrow_figure_is_drawn_once_when_it_is_printed(monkeypatch):
    fig, _ = plots.figure()
    times, draw = [], fig.draw
    with narrow_screens.narrowed(fig):
        monkeypatch.setattr(fig, "draw", lambda renderer: times.append(draw(renderer)))
        narrow_screens.to_svg(fig)
    assert len(times) == 1
    assert fig.get_layout_engine() is not None
