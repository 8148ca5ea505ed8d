from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.text import Text
from scipy import stats

from ntpcompanion import plots

KINDS = ("penalty", "SGD", "adversarial", "training on", "sizes", "rescaling")


@pytest.fixture
def frame(rng):
    arms = [(kind, strength, seed) for kind in KINDS for strength in (1, 2) for seed in range(8)]
    table = pd.DataFrame(arms, columns=["kind", "strength", "seed"])
    centres = table["kind"].map(KINDS.index) / 5 - 0.5
    table["log_trace"] = centres * table["strength"] + rng.normal(0, 0.05, len(table))
    return table.assign(points=0.15 * centres + rng.normal(0, 0.3, len(table)))


@pytest.fixture
def table():
    rows = [
        ("SGD", 6.9, 0.2, -0.1, 0.5, 1.38),
        ("larger", 5.1, 1.6, 1.1, 2.1, 1.02),
        ("slope", -6.2, 0.6, -1.9, 2.2, -1.24),
        ("ours", np.nan, 0.3, 0.1, 0.5, np.nan),
    ]
    return pd.DataFrame(rows, columns=["label", "paper", "value", "low", "high", "delta"])


def test_the_plane_has_means_with_intervals_and_the_points_of_seeds(ax, frame):
    plots.draw_trace_plane(ax, frame)
    assert len(ax.containers) == len(KINDS)
    for kind, container in zip(KINDS, ax.containers, strict=True):
        group = frame[frame["kind"] == kind].groupby("strength")[["log_trace", "points"]]
        line, _, (across, up) = container
        assert line.get_xydata() == pytest.approx(group.mean().to_numpy())
        halves = stats.t.ppf(0.975, 7) * group.sem().to_numpy()
        for bars, axis in ((across, 0), (up, 1)):
            ends = np.array(bars.get_segments())[:, :, axis]
            assert np.diff(ends)[:, 0] / 2 == pytest.approx(halves[:, axis])
    faint = [line for line in ax.lines if line.get_alpha() is not None]
    assert [len(line.get_xdata()) for line in faint] == [16] * len(KINDS)
    assert len({(to_hex(c[0].get_color()), c[0].get_marker()) for c in ax.containers}) == 6


def test_the_paper_s_slope_is_a_line_through_the_origin(ax, frame):
    plots.draw_trace_plane(ax, frame, printed_slope=-5.0)
    (line,) = [
        line for line in ax.lines if line.get_color() == plots.THEORY and len(line.get_xdata()) > 2
    ]
    x, y = line.get_data()
    assert y == pytest.approx(-5.0 * x)
    assert x.min() < 0 < x.max()
    assert "−5.0 points per e-fold" in ax.texts[-1].get_text()


def test_each_kind_has_one_label_that_covers_no_other(ax, frame):
    plots.draw_trace_plane(ax, frame)
    assert [text.get_text() for text in ax.texts[:-1]] == list(KINDS)
    ax.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in ax.texts]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def test_the_axis_of_the_plane_counts_factors_of_the_trace(ax, frame):
    plots.draw_trace_plane(ax, frame)
    found = dict(zip([t.get_text() for t in ax.get_xticklabels()], ax.get_xticks(), strict=True))
    assert found["1/2"] == pytest.approx(-np.log(2))
    assert found["1"] == 0
    assert ax.get_ylim()[1] >= 1.5


def test_an_axis_of_small_changes_has_ticks_on_both_sides(ax, frame):
    frame["log_trace"] *= 0.25 / frame["log_trace"].abs().max()
    plots.draw_trace_plane(ax, frame)
    names = [t.get_text() for t in ax.get_xticklabels()]
    assert names == ["0.8", "0.9", "1", "1.1", "1.25"]
    assert (np.diff(ax.get_xticks()) > 0).all()


def test_one_seed_has_no_interval(ax, frame):
    plots.draw_trace_plane(ax, frame[frame["seed"] == 0])
    lengths = [np.ptp(np.array(bars.get_segments()), 1) for c in ax.containers for bars in c[2]]
    assert np.max(lengths) == 0


def test_a_comparison_is_a_row_with_the_paper_s_value_ours_and_the_smallest_effect(ax, table):
    plots.draw_comparisons(ax, table)
    lines = {line.get_label(): line for line in ax.lines}
    assert lines["paper"].get_xdata() == pytest.approx(table["paper"].to_numpy(), nan_ok=True)
    assert lines["paper"].get_markerfacecolor() == "none"
    delta = lines["δ, the smallest effect of interest"]
    assert delta.get_xdata() == pytest.approx(table["delta"].to_numpy(), nan_ok=True)
    ((line, _, (bars,)),) = ax.containers
    assert line.get_xdata().tolist() == table["value"].tolist()
    ends = np.array(bars.get_segments())[:, :, 0]
    assert ends == pytest.approx(table[["low", "high"]].to_numpy())
    assert [text.get_text() for text in ax.get_yticklabels()] == table["label"].tolist()
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first row stands on top"


def test_the_verdict_of_a_comparison_stands_beside_it(ax, table):
    plots.draw_comparisons(ax, table)
    assert [(text.get_text(), text.xy[1]) for text in ax.texts] == [
        ("falls short of δ", 0), ("reaches δ", 1), ("undecided", 2),
    ]  # fmt: skip


def test_the_levels_of_a_ladder_have_their_loss_and_their_gap(ax):
    rows = {"position": 3.882, "floor": 3.110, "both neighbours": 3.229, "saturated": 3.125}
    plots.draw_ladder(ax, rows)
    levels = [line for line in ax.lines if np.ptp(line.get_ydata()) == 0]
    assert {line.get_ydata()[0] for line in levels} >= set(rows.values())
    texts = [text.get_text() for text in ax.texts if text.get_text()]
    assert texts == [
        "position\n3.882 (+0.772)",
        "floor\n3.110",
        "both neighbours\n3.229 (+0.119)",
        "saturated\n3.125 (+0.015)",
    ]
    arrows = [text for text in ax.texts if not text.get_text()]
    assert [(a.xy[1], a.xyann[1]) for a in arrows] == [(3.882, 3.110), (3.229, 3.110)]
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts if text.get_text()]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda ax, f, t: plots.draw_trace_plane(ax, t), "`frame` has no column 'kind'"),
        (lambda ax, f, t: plots.draw_trace_plane(ax, f[:0]), "`frame` must have at least one row"),
        (
            lambda ax, f, t: plots.draw_trace_plane(ax, f.assign(kind=[f"{k}" for k in f.index])),
            "`frame` must hold 1 … 6 kinds of interventions, got 96",
        ),
        (lambda ax, f, t: plots.draw_comparisons(ax, f), "`table` has no column 'label'"),
        (lambda ax, f, t: plots.draw_comparisons(ax, t[:0]), "`table` must have at least one row"),
        (
            lambda ax, f, t: plots.draw_ladder(ax, {"floor": 1.0}),
            "`rows` must hold at least two losses",
        ),
        (
            lambda ax, f, t: plots.draw_ladder(ax, {"floor": 1.0, "b": np.nan}),
            "`rows` must be a finite number, got nan",
        ),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence(ax, frame, table, draw, words):
    with pytest.raises(ValueError, match=words):
        draw(ax, frame, table)
