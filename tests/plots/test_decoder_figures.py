import numpy as np
import pytest
from matplotlib.colors import to_hex

from ntpcompanion.plots.decoder_figures import draw_cone, draw_decoder_parts, draw_prediction
from ntpcompanion.plots.drawing.style import IN_SUPPORT, OUT_OF_SUPPORT


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
