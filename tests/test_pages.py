"""Every built page as a strict reader of HTML, a screen reader and a slow line meet it. Slow:
tests/test_site.py asks the same of a new book.
"""

import re
from collections import Counter
from pathlib import Path

import axe_playwright_python
import pytest
from tinyhtml5.parser import HTMLParser

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages
from tests.browsing import PATIENCE, SETTLED
from tests.smoke import smoke_site

pytestmark = pytest.mark.slow

PAGES = toc_pages(Project.find())
HEAVIEST = 1.5 * 2**20  # bytes of a page without its widgets
WIDGET = re.compile(r'<figure class="ntp-widget".*?</figure>', re.DOTALL)
SCRIPT = re.compile(r'<script[^>]* src="([^"]*/widgets/[^"]*)"')
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
SERIOUS = ("serious", "critical")
COLOURS = ["color-contrast", "link-in-text-block"]  # the rules that a theme can break
ALL_OTHERS = {"rules": {name: {"enabled": False} for name in COLOURS}}
# a formula is hundreds of elements of one colour, and these rules take long for each
FORMULAS_AS_TEXT = """() => document.querySelectorAll("mjx-container")
  .forEach(formula => formula.replaceWith("x"))"""


@pytest.fixture(scope="module")
def site():
    return smoke_site()


def html_faults(path: Path) -> list[str]:
    """What a strict parser says of a page, and each name that two of its elements have."""
    parser = HTMLParser()
    tree = parser.parse(path.read_text(encoding="utf-8"))
    errors = [f"{code} {data or ''}".strip() for _, code, data in parser.errors]
    names = Counter(element.get("id") for element in tree.iter() if element.get("id"))
    return errors + [f"{count} elements named {name}" for name, count in names.items() if count > 1]


def axe_faults(browser, path: Path) -> list[str]:
    """What axe-core finds serious on a page when it is light, and in its colours when it is dark,
    which changes nothing else.
    """
    context = browser.new_context(color_scheme="light")
    context.set_default_timeout(PATIENCE)
    tab = context.new_page()
    tab.goto(path.as_uri())
    tab.evaluate(SETTLED)
    tab.add_script_tag(path=AXE)
    faults = []
    looks = (("light", ALL_OTHERS), ("light", {"runOnly": COLOURS}), ("dark", {"runOnly": COLOURS}))
    for theme, rules in looks:
        if "runOnly" in rules:
            tab.evaluate(FORMULAS_AS_TEXT)
        tab.emulate_media(color_scheme=theme)
        tab.locator(f"html[data-theme={theme}]").wait_for(state="attached")
        tab.evaluate("document.getAnimations().forEach(fade => fade.finish())")
        found = tab.evaluate(
            "rules => axe.run(document, {resultTypes: ['violations'], ...rules})", rules
        )
        assert found["passes"], "axe-core looked at nothing"
        faults += [
            f"{theme}: {rule['id']}: {node['html'][:200]}"
            for rule in found["violations"]
            for node in rule["nodes"]
            if rule["impact"] in SERIOUS
        ]
    context.close()
    return faults


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_valid_html(site, page):
    assert html_faults(site / f"{page}.html") == []


def weight(html: str) -> int:
    """Bytes of a page without its figures to touch, which hold data and a picture."""
    return len(WIDGET.sub("", html).encode())


def test_no_page_is_heavy(any_site):
    pages = {page: any_site / f"{page}.html" for page in PAGES}
    weights = {page: weight(path.read_text(encoding="utf-8")) for page, path in pages.items()}
    assert {page: bytes_ for page, bytes_ in weights.items() if bytes_ > HEAVIEST} == {}


def test_all_figures_to_touch_together_are_light(any_site):
    """Their scripts, which all pages share, and the data and pictures in the pages."""
    read = [path.read_text(encoding="utf-8") for path in any_site.glob("chapters/*.html")]
    figures = [figure for page in read for figure in WIDGET.findall(page)]
    scripts = {source for page in read for source in SCRIPT.findall(page)}
    assert len(figures) >= 6
    assert scripts
    shared = sum((any_site / "chapters" / source).stat().st_size for source in scripts)
    assert shared + sum(len(figure.encode()) for figure in figures) <= 400 * 2**10


@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing_serious(browser, site, page):
    assert axe_faults(browser, site / f"{page}.html") == []
