import functools
import inspect
import io
import re
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from IPython.terminal.interactiveshell import TerminalInteractiveShell
from matplotlib.mathtext import MathTextParser

from ntpcompanion import plots
from ntpcompanion.plots.drawing import style as module
from ntpcompanion.plots.drawing.narrow_screens import NARROW_MIME, to_svg
from ntpcompanion.plots.drawing.style import keep_formulas
from ntpcompanion.workflow.site.look import ASSETS


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
def test_in_a_notebook_ink_and_colours_read_on_light_and_dark(page):
    """What the pages of the book show instead passes 4.5 and 3: see workflow/site/test_figures."""
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


def test_in_a_notebook_figures_become_svg_wide_and_narrow(monkeypatch):
    asked = []
    monkeypatch.setattr(module, "get_ipython", lambda: TerminalInteractiveShell.instance())
    monkeypatch.setattr(
        module,
        "set_matplotlib_formats",
        lambda *formats, **options: asked.append((formats, options)),
    )
    plots.use_style()
    assert asked == [(("svg",), {"bbox_inches": None, "metadata": {"Date": None}})]
    shell = TerminalInteractiveShell.instance()
    data, _ = shell.display_formatter.format(plots.figure()[0])
    assert ElementTree.fromstring(data[NARROW_MIME]).get("width") == "244.8pt"
    TerminalInteractiveShell.clear_instance()


def test_the_first_figure_sets_the_style_and_later_ones_leave_it():
    mpl.rcdefaults()
    plots.figure()
    assert mpl.rcParams["axes.titlelocation"] == "left"
    mpl.rcParams["axes.titlelocation"] = "right"
    plots.figure()
    assert mpl.rcParams["axes.titlelocation"] == "right"


def test_a_figure_in_a_notebook_is_drawn_for_its_display_only(monkeypatch):
    left_out = []
    monkeypatch.setattr(
        "matplotlib.pyplot.uninstall_repl_displayhook", lambda: left_out.append("the hook")
    )
    plots.figure()
    assert left_out == [], "elsewhere, figures of other windows are drawn as ever"
    monkeypatch.setattr(mpl, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    plots.figure()
    assert left_out == ["the hook"]


def test_text_is_written_in_the_typeface_of_the_pages_and_stays_text(ax):
    ax.set(
        title="α ≥ ½ – “ä”", xlabel="$W^\\star$ inside $\\mathcal{F}$, $\\eta\\,\\mathrm{tr}\\,H$"
    )
    svg = to_svg(ax.figure)
    assert "α ≥ ½ – “ä”" in svg
    assert set(re.findall(r"'([^']*)'", svg)) == {module.TYPEFACE}


@pytest.mark.parametrize(
    "sign", ["W_\\perp", "\\nabla L", "z \\in S", "\\mathbb{R}", "a \\propto b"]
)
def test_signs_beyond_the_typeface_have_the_codes_of_unicode(ax, sign):
    ax.set_title(f"${sign}$")
    fonts = set(re.findall(r"'([^']*)'", to_svg(ax.figure)))
    assert not any(font.startswith("cm") for font in fonts)


def test_the_typeface_carries_its_licence():
    for folder, faces in ((module.FONTS, 3), (ASSETS / "fonts", 4)):
        assert "SIL OPEN FONT LICENSE" in (folder / "OFL.md").read_text(encoding="utf-8")
        assert len(list(folder.glob("CompanionSans-*"))) == faces


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_a_ramp_goes_from_dark_to_light(n):
    shades = [luminance(colour) for colour in plots.ramp(n)]
    assert len(shades) == n
    assert shades == sorted(set(shades))
    assert shades[0] == luminance("#3b2a7a")


@pytest.mark.parametrize("n", [0, 10])
def test_a_ramp_of_too_many_shades_is_refused(n):
    with pytest.raises(ValueError, match=rf"`n` must lie in 1 … 9 \(more shades .*, got {n}"):
        plots.ramp(n)


NAME = "_parse_cached"


@pytest.fixture
def formulas(monkeypatch):
    """Those that are set from now on; Matplotlib is as it is by itself, until the test says
    otherwise.
    """
    found = []
    by_itself = inspect.unwrap(getattr(MathTextParser, NAME))

    def noted(self, text, *arguments):
        found.append(text)
        return by_itself(self, text, *arguments)

    monkeypatch.setattr(MathTextParser, NAME, functools.lru_cache(50)(noted))
    return found


def drawn():
    """A figure with a logarithmic axis."""
    fig, (panel,) = plots.figure()
    panel.loglog([1e-8, 1], [1, 2], label=r"$\alpha_{ij}^2$")
    panel.legend()
    return to_svg(fig)


def test_a_formula_is_set_once_and_looks_as_it_did(formulas):
    by_itself = drawn()
    assert len(formulas) > len(set(formulas))
    keep_formulas()
    formulas.clear()
    assert drawn() == by_itself
    once = list(formulas)
    assert r"$\alpha_{ij}^2$" in once
    assert drawn() == by_itself
    assert formulas == once


def test_to_ask_twice_changes_nothing(formulas):
    keep_formulas()
    method = getattr(MathTextParser, NAME)
    keep_formulas()
    assert getattr(MathTextParser, NAME) is method


def test_where_matplotlib_has_another_method_nothing_is_changed(formulas, monkeypatch):
    monkeypatch.setattr(MathTextParser, NAME, len)
    keep_formulas()
    assert getattr(MathTextParser, NAME) is len
    monkeypatch.delattr(MathTextParser, NAME)
    keep_formulas()
    assert not hasattr(MathTextParser, NAME)
