import numpy as np
import pytest

from ntpcompanion.plots.cone import draw_cone


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
