"""The look of a page in a browser: type, tables, statements, formulas and figures on every
width, on a toy page with the stylesheets of the theme and of the book.
"""

import importlib.util
import shutil
from pathlib import Path

import pytest

from ntpcompanion.workflow.pages.numbering import with_papers_numbers
from ntpcompanion.workflow.site.look import ASSETS

WIDTHS = (320, 390, 768, 1280)
LONG = r"\sum_{j=1}^{m} \pi_j \Big( \langle W, (e_z - e_v) h_j^\top \rangle - \log p_{jz} \Big)"
PROSE = (
    "The loss of a language model has a lower bound, the entropy of the text given its contexts, "
    "and infinitely many models come as close to it as one likes, yet they differ elsewhere. "
) * 4
BODY = rf"""<h1>A chapter</h1><p id="prose">{PROSE}</p>
<h2>The paper</h2><p>The decoder <span class="math notranslate nohighlight">\(W\)</span> and
<span class="math notranslate nohighlight">\(\mathcal{{S}}_j\)</span>, again
<span class="math notranslate nohighlight">\(W\)</span>, at <a href="#here">
<span class="math notranslate nohighlight">\(W\)</span></a>.</p>
<div class="proof theorem admonition" id="here"><p class="admonition-title">
<span class="caption-number">Theorem 22 </span> (Implicit bias of gradient descent (Theorem 2 of
the paper))</p><section class="theorem-content" id="proof-content"><p>{PROSE[:90]}</p>
<div class="math notranslate nohighlight" id="equation-long"><span class="eqno">(7)<a
class="headerlink" href="#equation-long">#</a></span>\[{LONG} = {LONG} + {LONG}\]</div>
</section></div>
<div class="math notranslate nohighlight" id="short">\[a^2 + b^2 = c^2\]</div>
<h3>A table</h3><div class="ntp-scroll" tabindex="0"><table class="ntp-table"><thead><tr>
<th scope="col">SGD</th>{"".join(f'<th scope="col">quantity no. {k}</th>' for k in range(9))}
</tr></thead><tbody><tr><td>SGD</td>{'<td class="ntp-number">0.573 ± 0.011</td>' * 9}</tr></tbody>
</table></div><figure><div class="ntp-figure">
<svg class="ntp-wide" role="img" aria-label="wide" width="624" height="260" viewBox="0 0 468 195">
<text x="9" y="20">wide</text></svg><svg class="ntp-narrow" style="display:none" role="img"
aria-label="narrow" width="326" height="500" viewBox="0 0 244.8 375"><text x="9" y="20">slim</text>
</svg></div><figcaption><p><span class="caption-number">Fig. 1 </span><span class="caption-text">
What is seen.</span></p></figcaption></figure>"""
PAGE = """<!DOCTYPE html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">
<title>A chapter</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1">
{styles}<script>window.MathJax = {{options: {{enableMenu: false,
  processHtmlClass: "tex2jax_process|mathjax_process|math|output_area"}}}};</script>
<script defer src="mathjax/tex-chtml-full.js"></script></head>
<body><div class="bd-container"><div class="bd-container__inner bd-page-width">
<main class="bd-main">
<div class="bd-content"><div class="bd-article-container"><article class="bd-article"><section>
{body}</section></article></div></div></main></div></div></body></html>"""


def folder_of(package: str) -> Path:
    return Path(importlib.util.find_spec(package).origin).parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The toy page in both themes, with all that it loads."""
    site = tmp_path_factory.mktemp("look")
    shutil.copytree(ASSETS / "fonts", site / "fonts")
    themes = folder_of("pydata_sphinx_theme") / "theme" / "pydata_sphinx_theme" / "static"
    mine = folder_of("sphinx_book_theme") / "theme" / "sphinx_book_theme" / "static"
    proofs = folder_of("sphinx_proof") / "_static" / "proof.css"
    sheets = [themes / "styles" / f"{name}.css" for name in ("theme", "pydata-sphinx-theme")]
    sheets += [mine / "styles" / "sphinx-book-theme.css", proofs]
    sheets += [ASSETS / f"{name}.css" for name in ("type", "companion")]
    for path in sheets:
        shutil.copy2(path, site)
    mathjax = folder_of("sphinx-mathjax-offline") / "static" / "mathjax"
    fonts = Path("output", "chtml", "fonts", "woff-v2")
    shutil.copytree(mathjax / fonts, site / "mathjax" / fonts)
    shutil.copy2(mathjax / "tex-chtml-full.js", site / "mathjax")
    body = with_papers_numbers(BODY)
    styles = "".join(f'<link rel="stylesheet" href="{path.name}">' for path in sheets)
    for theme in ("light", "dark"):
        page = PAGE.format(theme=theme, styles=styles, body=body)
        (site / f"{theme}.html").write_text(page, encoding="utf-8")
    return site


@pytest.fixture
def opened(visit, site):
    """A function that opens the toy page."""

    def opening(width=1280, theme="light", **options):
        page = visit((site / f"{theme}.html").as_uri(), width, **options)
        page.wait_for_function("document.querySelectorAll('mjx-container').length >= 6")
        page.evaluate("document.fonts.ready")
        return page

    return opening


def style(page, selector, name):
    script = "([where, name]) => getComputedStyle(document.querySelector(where))[name]"
    return page.evaluate(script, [selector, name])


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_sticks_out_of_the_window(opened, width):
    page = opened(width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = "[...document.querySelectorAll('p, h2, figure svg, .proof, .eqno, .ntp-scroll')]"
    sides = page.evaluate(f"{boxes}.map(part => part.getBoundingClientRect().right)")
    assert max(sides) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_a_long_formula_scrolls_in_its_line_with_its_number_in_sight(opened, width):
    page = opened(width)
    formula = page.locator("#equation-long > mjx-container")
    inside, shown = formula.evaluate("part => [part.scrollWidth, part.clientWidth]")
    assert inside > shown, "the toy's formula is to be too long"
    number = page.locator("#equation-long > .eqno").bounding_box()
    assert formula.bounding_box()["x"] + shown <= number["x"] + 1
    assert number["x"] + number["width"] <= width
    assert formula.evaluate("part => (part.scrollLeft = 40, part.scrollLeft)") == 40
    # the shadow at the edge: one layer stays with the edge and one scrolls with the formula
    layers = style(page, "#equation-long > mjx-container", "backgroundAttachment")
    assert layers == "local, local, scroll, scroll"
    for box in (".proof", "#proof-content"):
        assert style(page, box, "overflow") == "visible", f"{box} cuts its formula off"


def test_a_line_of_prose_has_65_to_75_letters(opened):
    page = opened()
    lines = page.evaluate("""() => {
      const text = document.getElementById('prose').firstChild, range = document.createRange();
      const tops = new Map();
      for (let k = 0; k < text.length; k++) {
        range.setStart(text, k); range.setEnd(text, k + 1);
        const box = range.getClientRects()[0];
        if (box) tops.set(Math.round(box.top), (tops.get(Math.round(box.top)) || 0) + 1);
      }
      return [...tops.values()];
    }""")
    assert 65 <= sum(lines[:-1]) / len(lines[:-1]) <= 76
    assert page.evaluate("document.fonts.check('18px \"Companion Sans\"')")


def test_the_papers_number_stands_at_the_edge_of_the_box(opened):
    for width, inside in ((390, True), (1280, True), (1600, False)):
        page = opened(width)
        note, box = (
            page.locator(where).bounding_box() for where in (".ntp-papers-number", ".proof")
        )
        assert (note["x"] + note["width"] <= box["x"] + box["width"] + 1) is inside
        assert note["x"] + note["width"] <= width
        title = page.locator(".proof > .admonition-title").inner_text()
        assert " ".join(title.split()).startswith("Theorem 22 Implicit bias of gradient descent")


@pytest.mark.parametrize(("width", "shown"), [(390, "narrow"), (600, "narrow"), (768, "wide")])
def test_one_width_of_a_figure_is_shown_and_heard(opened, width, shown):
    page = opened(width)
    seen = page.locator(".ntp-figure svg:visible")
    assert [part.get_attribute("aria-label") for part in seen.all()] == [shown]
    page.emulate_media(media="print")
    assert [part.get_attribute("aria-label") for part in seen.all()] == ["wide"]


def test_numbers_of_a_table_stand_in_columns(opened):
    page = opened()
    assert style(page, "td.ntp-number", "textAlign") == "right"
    assert style(page, "td.ntp-number", "fontVariantNumeric") == "tabular-nums"
