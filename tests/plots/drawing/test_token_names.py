import pytest
from matplotlib.textpath import TextPath

from ntpcompanion.plots.drawing.token_names import visible


@pytest.mark.parametrize("token", [" ", "\n", "\t", "$", "$$", "a b", "_", "^"])
def test_every_token_can_be_drawn(token):
    """White space has a width, and dollars are not a formula."""
    assert TextPath((0, 0), visible(token)).get_extents().width > 0


def test_words_stay_as_they_are():
    assert [visible(word) for word in ("the", "हिन्दी", "don't")] == ["the", "हिन्दी", "don't"]
