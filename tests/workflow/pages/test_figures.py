"""SVGs of matplotlib as part of a page."""

import re
from xml.etree import ElementTree

import matplotlib as mpl
import nbformat
import pytest

mpl.use("agg")

from ntpcompanion import plots
from ntpcompanion.plots.drawing import narrow_screens, style
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.pages import figures
from ntpcompanion.workflow.running.results import outputs_digest
from ntpcompanion.workflow.site.look import ASSETS
from tests.plots.drawing.test_style import MEANINGS, contrast
from tests.refusing import refused

PAGES = {"light": "#ffffff", "dark": "#121212"}  # the backgrounds of the theme


@pytest.fixture
def drawn():
    with mpl.rc_context():
        plots.use_style()
        fig, (left, right) = plots.figure(2)
        for colour, shift in zip(plots.ramp(3), range(3), strict=True):
            left.plot([0, 1], [shift, 1], "o-", color=colour)
        line = plots.draw_measured(right, [1, 10], [1, 2])
        plots.label_line(right, line, "a < b & c")
        right.set(xscale="log", xlabel="steps $k^\\star$ until $\\eta \\geq 1$")
        yield {"image/svg+xml": narrow_screens.to_svg(fig), **narrow_screens.narrow_bundle(fig)}
        mpl.pyplot.close("all")


def page(data, **mystnb):
    cell = nbformat.v4.new_code_cell(metadata={"mystnb": mystnb}, id="cell-007")
    cell.outputs = [nbformat.v4.new_output("display_data", dict(data))]
    return nbformat.v4.new_notebook(cells=[cell])


def shown(data):
    made = page(data, image={"alt": "It falls & rises"}, figure={"name": "fig-fall"})
    figures.inline_figures(made)
    return made.cells[0].outputs[0].data


def parsed(html):
    return ElementTree.fromstring(html)


def test_a_page_has_both_widths_with_one_alternative_text_each(drawn):
    wide, slim = parsed(shown(drawn)["text/html"])
    for svg in (wide, slim):
        assert (svg.get("role"), svg.get("aria-label")) == ("img", "It falls & rises")
    assert (wide.get("class"), slim.get("class")) == ("ntp-wide", "ntp-narrow")
    # without the stylesheet, as in a notebook, one alone is shown
    assert (wide.get("style"), slim.get("style")) == (None, "display:none")
    assert (wide.get("width"), slim.get("width")) == ("624", "326")
    assert slim.get("viewBox").startswith("0 0 244.8 ")


def test_the_page_keeps_what_the_run_has_made(drawn):
    made = page(drawn, image={"alt": "It falls"})
    ran = outputs_digest(made)
    figures.inline_figures(made)
    once = made.cells[0].outputs[0].data
    assert set(once) == {"image/svg+xml", "text/html", figures.NARROW_MIME}
    assert outputs_digest(made) == ran, "else every build would run the notebooks again"
    html = once["text/html"]
    figures.inline_figures(made)
    assert made.cells[0].outputs[0].data["text/html"] == html


def test_ids_are_unique_on_a_page_and_each_reference_has_its_target(drawn):
    made = page(drawn)
    made.cells.append(nbformat.from_dict({**made.cells[0], "id": "cell-008"}))
    figures.inline_figures(made)
    html = "".join(cell.outputs[0].data["text/html"] for cell in made.cells)
    ids = re.findall(r' id="([^"]*)"', html)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]*)', html))
    assert len(ids) == len(set(ids))
    assert used == set(ids)


def test_every_colour_is_one_of_the_theme(drawn):
    html = shown(drawn)["text/html"]
    beside = re.sub(r"var\(--ntp-[a-z-]+,#[0-9a-f]{6}\)", "", html)
    assert not re.search(r"#[0-9a-f]{6}", re.sub(r'"#[^"]*"', "", beside))
    assert {"--ntp-ink", "--ntp-measurement", "--ntp-ramp-dark", "--ntp-ramp-light"} <= set(
        re.findall(r"--ntp-[a-z-]+", html)
    )


def test_the_names_of_colours_are_those_of_the_plots():
    named = [getattr(plots, name) for name in MEANINGS] + list(style.FURTHER)
    assert set(Project.find().settings.colours) == set(named)
    assert (plots.ramp(2)[0], plots.ramp(2)[1]) == figures.RAMP
    assert figures.NARROW_MIME == narrow_screens.NARROW_MIME
    assert figures.TYPEFACE == style.TYPEFACE


def variables(theme):
    """The variables of the stylesheet in a theme."""
    css = (ASSETS / "companion.css").read_text(encoding="utf-8")
    blocks = re.findall(r"^(:root|html\[data-theme=\"dark\"\]) \{(.*?)^\}", css, re.M | re.S)
    found = {}
    for selector, block in blocks:
        if selector == ":root" or theme == "dark":
            found |= dict(re.findall(r"(--ntp-[a-z-]+): (#[0-9a-f]{6});", block))
    return found


@pytest.mark.parametrize("theme", PAGES)
def test_colours_of_figures_read_as_text_on_the_pages(theme):
    """Labels have the colour of their line: 4.5:1 holds for lines and marks too."""
    found = variables(theme)
    colours = {f"--ntp-{name}" for name in Project.find().settings.colours.values()}
    names = {*colours, "--ntp-ramp-dark", "--ntp-ramp-light"}
    ratios = {name: contrast(found[name], PAGES[theme]) for name in names}
    assert {name for name, ratio in ratios.items() if ratio < 4.5} == set()
    assert len({found[name] for name in names}) == len(names)


def test_a_sign_without_a_code_of_unicode_is_an_error(drawn):
    foreign = drawn["image/svg+xml"].replace("'Companion Sans'", "'cmex10'", 1)
    with refused(r"Figure 'fig-fall' .* typeface 'cmex10'.*√ instead"):
        shown({"image/svg+xml": foreign})
