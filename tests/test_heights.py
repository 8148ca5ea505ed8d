"""How tall the chapters are with their code folded: each is read in one sitting.

The smoke site stands for the book: prose, figures and cards are as tall there, only tables may be
shorter. Where a book is built, its pages are measured as well.
"""

import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages
from tests.browsing import SETTLED

MOST = 12_000  # pixels at a width of 1280: thirteen windows
# Two thirds of what these were before their code was folded and long proofs opened by a click.
TWO_THIRDS = {
    "adam": 10_578,
    "adam_limit": 6_016,
    "descent": 11_531,
    "languages": 7_504,
    "ntp_svm": 8_058,
    "same_loss": 7_939,
    "saturation": 7_058,
    "sparse_contexts": 8_580,
    "trace_estimators": 10_132,
}
LONGER = {"dyck": 14_500}  # theorem, gap in its proof and the enumeration behind it: one argument
LIMITS = TWO_THIRDS | LONGER
# without what only the smoke site has below its titles: that its numbers are not results
HEIGHT = """() => {
  document.querySelector("h1 + .admonition.warning")?.remove();
  return document.documentElement.scrollHeight;
}"""
CHAPTERS = [
    page.removeprefix("chapters/")
    for page in toc_pages(Project.find())
    if page.startswith("chapters/")
]


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_chapter_is_too_tall(visit, any_site, chapter):
    tab = visit((any_site / "chapters" / f"{chapter}.html").as_uri(), color_scheme="light")
    tab.evaluate(SETTLED)
    assert tab.evaluate(HEIGHT) <= LIMITS.get(chapter, MOST), (
        "put a long proof into a dropdown, cards that only support others into a strip (tag "
        "`strip`), and what only repeats or adds detail into a fold (`ntp-fold ntp-aside`)"
    )
