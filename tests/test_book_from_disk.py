"""Every page of the real book at smoke, read from disk as a browser reads it, in every look."""

import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages
from tests.crawl import EVERY, crawl, pages_of, searched
from tests.smoke import smoke_site

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site():
    return smoke_site()


@pytest.fixture(scope="module")
def book(browser, site):
    return crawl(browser, f"{site.as_uri()}/", pages_of(site), EVERY)


# three tests that read all pages: a process that is given fewer takes the next file, too, which
# would wait here for minutes
def test_nothing_to_complain_about_on_any_page(book):
    assert book.complaints == {}


def test_every_page_is_read(book):
    made = {"genindex.html", "py-modindex.html", "search.html"}
    listed = {f"{page}.html" for page in toc_pages(Project.find())}
    assert listed | made <= set(book.said)


def test_a_reader_who_searches_finds_pages(book):
    found = searched(book, "entropy")
    assert {"notation.html", "chapters/sparse_contexts.html"} <= found
    assert book.complaints == {}


def test_each_chapter_carries_the_smoke_warning(site):
    chapters = list((site / "chapters").glob("*.html"))
    assert len(chapters) == len(list(Project.find().notebooks.glob("*.md")))
    for chapter in chapters:
        assert "Its numbers are not results" in chapter.read_text(encoding="utf-8")
