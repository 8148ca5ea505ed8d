import io

import matplotlib as mpl
import numpy as np
import pytest

from ntpcompanion import plots
from ntpcompanion.plots import style as module


def luminance(colour):
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in mpl.colors.to_rgb(colour)
    ]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


MEANINGS = ["IN_SUPPORT", "OUT_OF_SUPPORT", "MEASUREMENT", "PAPER", "CONTRAST", "THEORY"]


def test_each_meaning_has_a_colour_of_its_own():
    assert len({getattr(plots, name) for name in MEANINGS}) == len(MEANINGS)


@pytest.mark.parametrize("page", ["white", "#121212"])
def test_ink_and_colours_read_on_light_and_dark_pages(page):
    assert contrast(module.INK, page) > 4
    assert all(contrast(getattr(plots, name), page) > 2.3 for name in MEANINGS)


def test_figures_are_page_wide_transparent_and_equal_byte_for_byte(counts):
    def drawn():
        fig, (left, right) = plots.figure(2, height=2.0)
        plots.draw_num_contexts(left, counts)
        plots.draw_floor(right, counts)
        file = io.BytesIO()
        fig.savefig(file, format="svg", metadata={"Date": None})
        return fig, file.getvalue()

    (fig, one), (_, other) = drawn(), drawn()
    assert one == other
    assert tuple(fig.get_size_inches()) == (6.5, 2)
    assert fig.get_facecolor()[3] == 0


def test_in_a_notebook_figures_become_svg(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "get_ipython", lambda: object())
    monkeypatch.setattr(
        module,
        "set_matplotlib_formats",
        lambda *formats, **options: asked.append((formats, options)),
    )
    plots.use_style()
    assert asked == [(("svg",), {"bbox_inches": None, "metadata": {"Date": None}})]
