import pytest
from matplotlib.textpath import TextPath

from ntpcompanion import plots
from ntpcompanion.plots.drawing.labels import visible


@pytest.mark.parametrize(
    ("offset", "side"), [((5.0, 0.0), "left"), ((-5.0, 0.0), "right"), ((0.0, 5.0), "center")]
)
def test_a_label_stands_beside_its_point_in_the_colour_of_the_line(ax, offset, side):
    line = plots.draw_measured(ax, [1, 2, 3], [4, 5, 6])
    plots.label_line(ax, line, "here", index=1, offset=offset)
    (label,) = ax.texts
    assert (label.get_text(), label.xy, label.get_color(), label.get_ha()) == (
        "here",
        (2, 5),
        plots.MEASUREMENT,
        side,
    )


@pytest.mark.parametrize("token", [" ", "\n", "\t", "$", "$$", "a b", "_", "^"])
def test_every_token_can_be_drawn(token):
    """White space has a width, and dollars are not a formula."""
    assert TextPath((0, 0), visible(token)).get_extents().width > 0


def test_words_stay_as_they_are():
    assert [visible(word) for word in ("the", "हिन्दी", "don't")] == ["the", "हिन्दी", "don't"]
