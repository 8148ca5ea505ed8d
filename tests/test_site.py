"""Pages of the real book, rendered from its smoke run and read as a browser reads them."""

from contextlib import contextmanager
from pathlib import Path

import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages
from tests.built import KINDS
from tests.crawl import EVERY, NARROW_FIRST, USUAL, Crawl, crawl, read, served
from tests.smoke import smoke_site

# Pieces of templates that the themes leave among their style sheets.
NOT_PAGES = {"_static/webpack-macros.html", "_static/sbt-webpack-macros.html"}


@contextmanager
def read_twice(browser, site: Path, names: set[str], looks=USUAL):
    """The site read from disk in these looks, and over http in two."""
    with served(site) as address:
        yield [
            crawl(browser, f"{site.as_uri()}/", names, looks),
            crawl(browser, address, names, NARROW_FIRST),
        ]


def complaints(readings: list[Crawl]) -> dict[tuple[str, str], list[str]]:
    return {key: faults for reading in readings for key, faults in reading.complaints.items()}


@pytest.fixture(scope="module")
def site():
    return smoke_site()


@pytest.fixture(scope="module")
def kinds(browser, site):
    """One page of each kind, read from disk."""
    return read(browser, f"{site.as_uri()}/", [f"{page}.html" for page in KINDS], USUAL)


@pytest.fixture(scope="module")
def book(browser, site):
    """All pages, from disk in every look and over http."""
    files = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    listed = {f"{page}.html" for page in toc_pages(Project.find())}
    with read_twice(browser, site, files - NOT_PAGES | listed, EVERY) as readings:
        yield readings


def search(reading: Crawl) -> set[str]:
    """The pages found by a word of the book; another word finds none."""
    found = {reading.page_of(link) for link in reading.search("entropy")}
    assert reading.search("rhinoceros") == []
    return found


def test_nothing_to_complain_about_on_a_page_of_each_kind(kinds):
    assert {f"{page}.html" for page in KINDS} == set(kinds.said)
    assert kinds.complaints == {}


def test_each_chapter_carries_the_smoke_warning(site):
    chapters = list((site / "chapters").glob("*.html"))
    assert len(chapters) == len(list(Project.find().notebooks.glob("*.md")))
    for chapter in chapters:
        assert "Its numbers are not results" in chapter.read_text(encoding="utf-8")


def test_a_reader_who_searches_finds_pages(kinds):
    assert {"notation.html", "chapters/sparse_contexts.html"} <= search(kinds)
    assert kinds.complaints == {}


def test_a_card_opens_by_keyboard(kinds):
    page = kinds.page
    page.goto(f"{kinds.base}chapters/separability.html")
    card = page.locator(".ntp-card:visible").first  # others wait in strips
    assert not card.locator("dl").is_visible()
    card.locator("summary").press("Enter")
    assert card.locator("dl").is_visible()


@pytest.mark.slow
def test_nothing_to_complain_about_on_any_page_in_any_look(book):
    made = {"genindex.html", "py-modindex.html", "search.html"}
    listed = {f"{page}.html" for page in toc_pages(Project.find())}
    assert all(listed | made <= set(reading.said) for reading in book)
    assert complaints(book) == {}


@pytest.mark.slow
def test_a_reader_who_searches_over_http_finds_pages(book):
    assert "notation.html" in search(book[1])
    assert book[1].complaints == {}
