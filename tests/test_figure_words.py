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


def said_of(visit, address, width, html=None):
    """What is wrong with the words of the figures of a page at a width of the window."""
    tab = visit(address, width)
    if html:
        tab.set_content(html)
    tab.add_script_tag(path=SCRIPT)
    tab.evaluate(SETTLED)
    tab.evaluate(OPENED)
    return tab.evaluate("crawl.words()")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("page", rest_slow(CHAPTERS, KINDS))
def test_words_of_figures_stand_apart(visit, page, width):
    assert said_of(visit, (built_book() / f"{page}.html").as_uri(), width) == []
