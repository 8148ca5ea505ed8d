"""Words of the book's figures, wide and narrow, as a browser sets them: none covers another or
leaves its figure, and no scale says the same twice in a row.
"""

import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages
from tests.browsing import SETTLED
from tests.built import built_book
from tests.crawl import SCRIPT

CHAPTERS = [page for page in toc_pages(Project.find()) if page.startswith("chapters/")]
OPENED = "() => document.querySelectorAll('details').forEach(fold => { fold.open = true; })"


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("page", CHAPTERS)
def test_words_of_figures_stand_apart(visit, page, width):
    tab = visit((built_book() / f"{page}.html").as_uri(), width)
    tab.add_script_tag(path=SCRIPT)
    tab.evaluate(SETTLED)
    tab.evaluate(OPENED)
    assert tab.evaluate("crawl.words()") == []
