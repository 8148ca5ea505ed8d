import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from ntpcompanion import plots
from ntpcompanion.plots.drawing.style import IN_SUPPORT, OUT_OF_SUPPORT
from ntpcompanion.plots.linear_figures import (
    draw_cone,
    draw_decoder_parts,
    draw_prediction,
    draw_share,
    half_way,
)

SHARES = pd.DataFrame(
    {
        "d/m": [0.25, 0.5, 1.0],
        "compatible": [0.0, 1.0, 1.0],
        "separable": [0.0, 0.25, 1.0],
        "undecided": [0.0, 0.0, 0.0],
    }
)


def test_shares_are_drawn_with_their_binomial_errors_and_none_is_left_out(ax):
    drawn = plots.draw_verdict_shares(ax, SHARES, draws=12)
    points = [line.get_xydata() for line in drawn.lines if line.get_marker() in ("s", "o", "x")]
    for column, xy in zip(("compatible", "separable", "undecided"), points, strict=True):
        assert np.array_equal(xy, SHARES[["d/m", column]])
    bars = drawn.containers[1].lines[2][0].get_segments()
    assert np.allclose(bars[1], [[0.5, 0.125], [0.5, 0.375]])
    assert {text.get_text() for text in drawn.texts} == {
        "$d = m$",
        "compatible",
        "separable",
        "undecided",
    }


def test_a_column_that_is_missing_is_named(ax):
    with pytest.raises(ValueError, match="`frame` has no column 'd/m'"):
        plots.draw_verdict_shares(ax, SHARES.drop(columns="d/m"), draws=12)


@pytest.mark.parametrize(
    ("share", "at"),
    [
        ([0.0, 0.0, 1.0], (np.sqrt(0.5), 0.5)),
        ([1.0, 1.0, 1.0], (0.25, 1.0)),
        ([0.0, 0.0, 0.0], (0.25, 0.0)),
    ],
)
def test_a_label_stands_where_its_line_rises(ax, share, at):
    assert half_way(draw_share(ax, [0.25, 0.5, 1.0], share, 4)) == pytest.approx(at)


def test_the_excess_is_drawn_as_points_beside_its_bound(ax):
    drawn = plots.draw_excess(ax, [0.0, 1.0, 2.0], [1.0, 0.1, 0.01], [2.0, 0.2, 0.02])
    bound, measured = drawn.lines
    assert np.array_equal(bound.get_ydata(), [2.0, 0.2, 0.02])
    assert np.array_equal(measured.get_xydata(), [[0, 1], [1, 0.1], [2, 0.01]])
    assert (drawn.get_yscale(), drawn.get_ylabel(), measured.get_linestyle()) == (
        "log",
        "excess loss (nats)",
        "None",
    )


def test_distributions_are_written_into_cells_and_what_cannot_follow_is_an_empty_frame(ax):
    plots.draw_distributions(ax, [[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]])
    follows = [to_hex(frame.get_edgecolor()) == plots.IN_SUPPORT for frame in ax.patches]
    assert follows == [True, True, False, False, False, True]
    assert [frame.get_linestyle() == "solid" for frame in ax.patches] == follows
    assert [(text.get_text(), *text.get_position()) for text in ax.texts] == [
        (".25", 0, 0),
        (".75", 1, 0),
        ("1.00", 2, 1),
    ]
    assert ax.yaxis_inverted(), "the first context is the upper row, as in a table"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["$h_1$", "$h_2$"]


def test_words_that_coincide_share_a_dot(ax):
    plots.draw_plane(ax, [[0.0, 5.0]], [[1.0, 0.0], [0.0, 2.0], [1.0, 1e-9]])
    assert [line.get_xydata().tolist() for line in ax.lines] == [[[1, 0]], [[0, 2]]]
    assert [text.get_text() for text in ax.texts if text.get_text()] == ["$h_1$", "1, 3", "2"]
    arrow = ax.texts[0]
    assert tuple(arrow.xy) == (0, 2), "as long as the longest word"


def test_pairs_of_words_are_drawn_as_they_are(ax):
    plots.draw_overlap(ax, [0.0, 1.0], [-0.5, 1.0])
    assert ax.lines[0].get_xydata().tolist() == [[0, -0.5], [1, 1]]


def test_the_excess_has_a_level_line_at_each_power_of_ten(ax):
    scale, gamma = np.linspace(0.0, 2.0, 5), np.linspace(0.0, 5.0, 11)
    excess = 10.0 ** (-gamma[:, None] + 0 * scale)
    draw_decoder_parts(ax, scale, gamma, excess, 3.0)
    (lines,) = ax.collections
    assert lines.levels.tolist() == [-5, -4, -3, -2, -1, 0]
    for power, path in list(zip(lines.levels, lines.get_paths(), strict=True))[1:-1]:
        assert np.allclose(path.vertices[:, 1], -power), "excess 10^power is at γ = −power"


def test_the_components_of_the_decoder_meet_at_a_right_angle(ax):
    draw_decoder_parts(ax, [0.0, 2.0], [0.0, 5.0], np.array([[2.0, 1.0], [0.5, 0.1]]), 3.0)
    arrows = [text for text in ax.texts if text.arrow_patch is not None]
    ends = [(arrow.xyann, arrow.xy) for arrow in arrows]
    assert ends == [((0, 0), (1, 0)), ((1, 0), (1, 3.0))]
    colours = [to_hex(arrow.arrow_patch.get_edgecolor()) for arrow in arrows]
    assert colours == [to_hex(IN_SUPPORT), to_hex(OUT_OF_SUPPORT)]


def test_bars_are_the_prediction_and_lines_the_text(ax):
    draw_prediction(ax, [0.2, 0.5, 0.3], [0.25, 0.75, 0.0])
    assert [bar.get_height() for bar in ax.patches] == [0.2, 0.5, 0.3]
    blue, orange = to_hex(IN_SUPPORT), to_hex(OUT_OF_SUPPORT)
    assert [to_hex(bar.get_facecolor()) for bar in ax.patches] == [blue, blue, orange]
    assert [line[:, 1].tolist() for line in ax.collections[0].get_segments()] == [
        [0.25, 0.25],
        [0.75, 0.75],
        [0, 0],
    ]


@pytest.mark.parametrize("direction", [[1.0, -1.0], [3.0, 1.0], [-0.5, -2.0]])
def test_the_line_of_reached_margins_crosses_the_panel_through_the_origin(ax, direction):
    draw_cone(ax, direction, colour="red")
    line = next(line for line in ax.lines if line.get_color() == "red")
    start, end = line.get_xydata()
    assert np.allclose(start, -end)
    assert end[0] * direction[1] - end[1] * direction[0] == pytest.approx(0)
    assert np.abs(end).max() == ax.get_xlim()[1] == ax.get_ylim()[1]


def test_the_cone_is_where_both_margins_are_positive(ax):
    draw_cone(ax, [1.0, 1.0])
    (cone,) = ax.patches
    assert cone.get_xy() == (0, 0)
    corner = (ax.get_xlim()[1], ax.get_ylim()[1])
    assert (cone.get_width(), cone.get_height()) == corner
    assert [text.get_text() for text in ax.texts] == ["both\npositive"]


def test_a_certificate_is_an_arrow_of_unit_length(ax):
    draw_cone(ax, [1.0, -1.0], certificate=[3.0, 4.0])
    arrow = next(text for text in ax.texts if text.get_text() == "")
    assert arrow.xy == pytest.approx((0.6, 0.8))
    assert "certificate" in [text.get_text() for text in ax.texts]
