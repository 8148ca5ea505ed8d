"""Sites rendered from their runs and read as a browser reads them: that of a new book, which stands
for all of them, and among the slow tests the real one at smoke.
"""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages
from ntpcompanion.workflow.starting.new_book import new_book
from tests.crawl import EVERY, NARROW_FIRST, USUAL, Crawl, crawl, served
from tests.smoke import smoke_site
from tests.test_pages import axe_faults, html_faults
from tests.toy import ROOT

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
def starter(tmp_path_factory):
    """The site of a new book, which `ntpcompanion init` writes: a chapter with a theorem, a figure
    and a card, the ledger and the other pages of a build.
    """
    made = new_book(tmp_path_factory.mktemp("starter") / "a book", "coins")
    build = [sys.executable, "-m", "ntpcompanion", "build"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(build, cwd=made, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    site = Project.read(made).html("book")
    (site / "favicon.ico").touch()  # browsers ask a server for it, and a new book has none
    return site


@pytest.fixture(scope="module")
def small(browser, starter):
    """All of its pages, from disk in the usual looks and over http."""
    listed = {f"{page}.html" for page in toc_pages(Project.read(starter.parents[1]))}
    with read_twice(browser, starter, listed) as readings:
        yield readings


@pytest.fixture(scope="module")
def book(browser, site):
    """All pages, from disk in every look and over http."""
    files = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    listed = {f"{page}.html" for page in toc_pages(Project.find())}
    with read_twice(browser, site, files - NOT_PAGES | listed, EVERY) as readings:
        yield readings


def search(reading: Crawl, word: str) -> set[str]:
    """The pages found by a word of the book; another word finds none."""
    found = {reading.page_of(link) for link in reading.search(word)}
    assert reading.search("rhinoceros") == []
    return found


def test_nothing_to_complain_about_in_a_new_book(small, starter):
    assert all({"intro.html", "chapters/mean.html", "ledger.html"} <= set(r.said) for r in small)
    assert complaints(small) == {}
    chapter = (starter / "chapters" / "mean.html").read_text(encoding="utf-8")
    assert "Its numbers are not results" not in chapter


@pytest.mark.parametrize("page", ["chapters/mean", "ledger"])
def test_pages_of_a_new_book_can_be_read_by_programs(browser, starter, page):
    assert html_faults(starter / f"{page}.html") == []
    assert axe_faults(browser, starter / f"{page}.html") == []


def test_a_reader_who_searches_finds_pages(small):
    for reading in small:
        assert "chapters/mean.html" in search(reading, "variance")
        assert reading.complaints == {}


def test_a_card_opens_by_keyboard(small):
    page = small[0].page
    page.goto(f"{small[0].base}chapters/mean.html")
    card = page.locator(".ntp-card:visible").first  # others wait in strips
    assert not card.locator("dl").is_visible()
    card.locator("summary").press("Enter")
    assert card.locator("dl").is_visible()


@pytest.mark.slow
def test_each_chapter_carries_the_smoke_warning(site):
    chapters = list((site / "chapters").glob("*.html"))
    assert len(chapters) == len(list(Project.find().notebooks.glob("*.md")))
    for chapter in chapters:
        assert "Its numbers are not results" in chapter.read_text(encoding="utf-8")


@pytest.mark.slow
def test_nothing_to_complain_about_on_any_page_in_any_look(book):
    made = {"genindex.html", "py-modindex.html", "search.html"}
    listed = {f"{page}.html" for page in toc_pages(Project.find())}
    assert all(listed | made <= set(reading.said) for reading in book)
    assert complaints(book) == {}


@pytest.mark.slow
def test_a_reader_who_searches_the_real_book_finds_pages(book):
    for reading in book:
        found = search(reading, "entropy")
        assert {"notation.html", "chapters/sparse_contexts.html"} <= found
        assert reading.complaints == {}
