"""What becomes of formulas that are wider than their line, in a browser. A bar of so many em stands
for what MathJax has set.
"""

import pytest

from ntpcompanion.workflow.site.look import ASSETS

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<link rel="stylesheet" href="{assets}/type.css">
<script>window.MathJax = {{startup: {{promise: Promise.resolve()}}}};</script>
<script src="{assets}/formulas.js"></script>
<style>mjx-container {{ display: block; overflow: auto; }} mjx-math {{ display: block; }}</style>
</head><body style="margin: 0"><article class="bd-article">{formulas}</article></body></html>"""
FORMULA = """<mjx-container display="true" style="font-size: 20px">
<mjx-math style="width: {em}em">x</mjx-math></mjx-container>"""
WINDOW, SIZE = 480, 20  # pixels: the window, and the usual size of a formula


@pytest.fixture
def formulas(visit, tmp_path):
    """A function: displayed formulas of so many em, on a page that is `WINDOW` wide."""

    def show(*widths):
        path = tmp_path / "page.html"
        text = "".join(FORMULA.format(em=em) for em in widths)
        path.write_text(PAGE.format(assets=ASSETS.as_uri(), formulas=text), encoding="utf-8")
        return visit(path.as_uri(), WINDOW, 700)

    return show


def found(page):
    """Size in pixels, and whether it can be scrolled by keyboard, of each formula."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    return page.eval_on_selector_all(
        "mjx-container",
        "all => all.map(f => [parseFloat(getComputedStyle(f).fontSize), f.tabIndex])",
    )


def test_a_formula_is_set_smaller_where_that_makes_it_fit(formulas):
    fits, little, most, too_wide = found(formulas(24, 30, 34, 35))
    assert fits == [SIZE, -1]
    for (size, place), em in ((little, 30), (most, 34)):
        assert size == pytest.approx(0.99 * WINDOW / em, rel=0.01)
        assert place == -1
    assert too_wide == [SIZE, 0], "it scrolls, at its usual size"


def test_a_wider_window_gives_it_back_its_size(formulas):
    page = formulas(30, 35)
    assert found(page)[0][0] < SIZE
    page.set_viewport_size({"width": 800, "height": 700})
    assert found(page) == [[SIZE, -1], [SIZE, -1]]
    page.set_viewport_size({"width": WINDOW, "height": 700})
    (size, _), (_, place) = found(page)
    assert size == pytest.approx(0.99 * WINDOW / 30, rel=0.01)
    assert place == 0
