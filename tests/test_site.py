"""The site of a new book, which stands for all of them, read as a browser reads it. The real one at
smoke is read by slow tests: `test_book_from_disk`, `test_book_over_http`.
"""

import os
import subprocess
import sys

import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.contents import toc_pages
from ntpcompanion.workflow.starting.new_book import new_book
from tests.crawl import NARROW_FIRST, USUAL, crawl, searched, served
from tests.test_pages import axe_faults, html_faults
from tests.toy import ROOT


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
    with served(starter) as address:
        yield [
            crawl(browser, f"{starter.as_uri()}/", listed, USUAL),
            crawl(browser, address, listed, NARROW_FIRST),
        ]


def test_nothing_to_complain_about_in_a_new_book(small, starter):
    assert all({"intro.html", "chapters/mean.html", "ledger.html"} <= set(r.said) for r in small)
    assert [reading.complaints for reading in small] == [{}, {}]
    chapter = (starter / "chapters" / "mean.html").read_text(encoding="utf-8")
    assert "Its numbers are not results" not in chapter


@pytest.mark.parametrize("page", ["chapters/mean", "ledger"])
def test_pages_of_a_new_book_can_be_read_by_programs(browser, starter, page):
    assert html_faults(starter / f"{page}.html") == []
    assert axe_faults(browser, starter / f"{page}.html") == []


def test_a_reader_who_searches_finds_pages(small):
    for reading in small:
        assert "chapters/mean.html" in searched(reading, "variance")
        assert reading.complaints == {}


def test_a_card_opens_by_keyboard(small):
    page = small[0].page
    page.goto(f"{small[0].base}chapters/mean.html")
    card = page.locator(".ntp-card:visible").first  # others wait in strips
    assert not card.locator("dl").is_visible()
    card.locator("summary").press("Enter")
    assert card.locator("dl").is_visible()
