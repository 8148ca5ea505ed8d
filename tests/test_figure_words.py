"""Words of the book's figures, wide and narrow, as a browser sets them: none covers another or
leaves its figure, and no scale says the same twice in a row.
"""

import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages
from tests.browsing import SETTLED
from tests.built import KINDS, built_book
from tests.crawl import SCRIPT
from tests.marks import rest_slow

CHAPTERS = [page for page in toc_pages(Project.find()) if page.startswith("chapters/")]
OPENED = "() => document.querySelectorAll('details').forEach(fold => { fold.open = true; })"
TICK = '<g><g><use/></g><g><text x="2" y="{y}">{said}</text></g></g>'
PAGE = """<div class="ntp-figure"><svg width="200" height="90" font-size="12">
<g>{ticks}</g><text x="40" y="20">first</text>{drawn}</svg></div>"""


def said_of(visit, address, width, html=None):
    """What is wrong with the words of the figures of a page at a width of the window."""
    tab = visit(address, width)
    if html:
        tab.set_content(html)
    tab.add_script_tag(path=SCRIPT)
    tab.evaluate(SETTLED)
    tab.evaluate(OPENED)
    return tab.evaluate("crawl.words()")


@pytest.mark.parametrize(
    ("ticks", "drawn", "faults"),
    [
        (("0.2", "0.3"), '<text x="90" y="20">second</text>', []),
        (("0.3", "0.3"), "", ["scale says twice: 0.3"]),
        (("0.2",), '<text x="50" y="22">second</text>', ["words cover each other: first / second"]),
        (("0.2",), '<text x="180" y="60">second</text>', ["word leaves its figure: second"]),
        # the box of a slanted word is larger than the word; other words may say the same
        (("1",), '<text x="50" y="22" transform="rotate(-45 50 22)">second</text>', []),
        ((), '<g><text x="9" y="60">6</text></g><g><text x="9" y="80">6</text></g>', []),
    ],
)
def test_a_crowded_figure_is_named(visit, ticks, drawn, faults):
    scale = "".join(TICK.format(y=30 + 20 * k, said=said) for k, said in enumerate(ticks))
    page = PAGE.format(ticks=scale, drawn=drawn)
    assert said_of(visit, "about:blank", 400, page) == faults


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("page", rest_slow(CHAPTERS, KINDS))
def test_words_of_figures_stand_apart(visit, page, width):
    assert said_of(visit, (built_book() / f"{page}.html").as_uri(), width) == []
