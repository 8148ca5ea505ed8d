"""How tall the chapters are with their code folded: each is read in one sitting.

The smoke site stands for the book: prose, figures and cards are as tall there, only tables may be
shorter. Where a book is built, its pages are measured as well.
"""

import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages
from tests.browsing import PATIENCE, SETTLED, needs_browser
from tests.built import built_book
from tests.smoke import smoke_site

pytestmark = needs_browser

MOST = 12_000  # pixels at a width of 1280: thirteen windows
# Two thirds of what these were before their code was folded and their long proofs opened by a click.
TWO_THIRDS = {"adam_limit": 6_016, "descent": 11_531, "ntp_svm": 8_058, "same_loss": 7_939}


def limit_of(chapter):
    return TWO_THIRDS.get(chapter, MOST)


def too_tall(browser, site, chapters):
    """A sentence for each chapter of a site that is taller than its limit."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
    tab.set_default_timeout(PATIENCE)
    found = []
    for chapter in chapters:
        tab.goto((site / "chapters" / f"{chapter}.html").as_uri())
        tab.evaluate(SETTLED)
        height = tab.evaluate("document.documentElement.scrollHeight")
        if height > limit_of(chapter):
            found.append(
                f"chapters/{chapter}.html is {height:,} pixels tall, at most {limit_of(chapter):,} "
                "are allowed: put a long proof into a dropdown, cards that only support others into "
                "a strip (tag `strip`) and a table that repeats a figure into `ntp-aside`."
            )
    tab.close()
    return found


def chapters():
    listed = toc_pages(Project.find())
    return [page.removeprefix("chapters/") for page in listed if page.startswith("chapters/")]


@pytest.mark.slow
@pytest.mark.parametrize("made", [smoke_site, built_book])
def test_no_chapter_is_too_tall(browser, made):
    assert too_tall(browser, made(), chapters()) == []


def test_each_limit_is_that_of_a_chapter():
    assert set(TWO_THIRDS) <= set(chapters())


def test_a_chapter_that_is_too_tall_is_named(browser, tmp_path):
    (tmp_path / "chapters").mkdir()
    for name, height in (("adam_limit", 6_017), ("other", MOST)):
        page = f"<!DOCTYPE html><title>t</title><body style='margin: 0; height: {height}px'>"
        (tmp_path / "chapters" / f"{name}.html").write_text(page)
    (said,) = too_tall(browser, tmp_path, ["adam_limit", "other"])
    assert said.startswith("chapters/adam_limit.html is 6,017 pixels tall, at most 6,016 are")
