"""The end of a chapter, added to pages made by hand."""

from dataclasses import replace

import nbformat
import pytest

from ntpcompanion.workflow.chapters.citation import Book, Chapter
from ntpcompanion.workflow.chapters.ending import (
    Ending,
    Source,
    add_ending,
)
from ntpcompanion.workflow.chapters.templating import render
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from tests.workflow.chapters.views import run_that

SOURCE = Source("coin.md")
CHAPTER = Chapter(Book("A book", "Its authors"), "coin", "A coin", "2026")
MADE = replace(run_that("A <chip>"), parameters={"n": 1000, "seed": 0})


def text(*lines):
    return nbformat.v4.new_markdown_cell("\n".join(lines))


def added(toy, cells):
    coin = find_notebooks(toy.project)["coin"]
    return [cell.source for cell in add_ending(cells, coin, MADE, CHAPTER, SOURCE)]


def ending(toy, made=MADE, source=SOURCE, repository=""):
    chapter = replace(CHAPTER, book=replace(CHAPTER.book, repository=repository))
    return Ending(find_notebooks(toy.project)["coin"], made, chapter, source)


def test_the_command_repeats_the_page(toy):
    assert ending(toy).command == "ntpcompanion execute coin"
    assert ending(toy, replace(MADE, profile="smoke")).command.endswith(" coin --profile smoke")
    assert ending(toy, replace(MADE, notebook="münze zwei")).command.endswith(" 'münze zwei'")


@pytest.mark.parametrize(
    ("value", "said"), [(0.04, "0.0"), (9.94, "9.9"), (9.96, "10"), (96.4, "96")]
)
def test_short_durations_have_a_decimal(value, said):
    assert replace(MADE, seconds=value).took == f"{said} seconds"


def test_a_page_without_the_section_gets_it_at_its_end(toy):
    before, end = added(toy, [text("# A coin")])
    assert before == "# A coin"
    assert end.startswith("## Run this yourself\n\nThis repeats the page:\n\n```bash")
    for part in ("2 parameters", "_files/coin.ipynb>", "Source: `coin.md`", "@incollection{"):
        assert part in end


def test_the_command_stands_first_and_the_rest_last_in_the_section(toy):
    first, own, rest = added(toy, [text("Text.", "## Run this yourself", "", "`-p n=5` is less.")])
    assert first.startswith("Text.\n## Run this yourself\n\nThis repeats")
    assert own.strip() == "`-p n=5` is less."
    assert "@incollection{" in rest
    assert "@incollection{" not in first


def test_the_section_ends_where_another_begins(toy):
    cells = [text("## Run this yourself", "Own."), text("More.", "## Notes", "A note."), text("Z")]
    first, own, more, rest, notes, last = added(toy, cells)
    assert first.startswith("## Run this yourself\n\nThis repeats")
    assert (own.strip(), more.strip()) == ("Own.", "More.")
    assert "@incollection{" in rest
    assert (notes, last) == ("## Notes\nA note.", "Z")


def test_a_mention_is_no_heading(toy):
    assert len(added(toy, [text("See ## Run this yourself.", "### Run this yourself")])) == 2


def test_parameters_say_value_default_meaning_and_range(toy):
    source = "n = 9  # draws of `m`  [2, inf)\\nmode = 'gd'  # method  {gd, adam}\\nsizes = []"
    toy.edit("notebooks/coin.md", "n = 1000  # throws", source.replace("\\n", "\n"))
    values = {"n": 4, "mode": "gd", "sizes": [1, 2], "seed": 0}
    assert ending(toy, replace(MADE, parameters=values)).parameters == [
        ("n", "4", "9", ["draws of ", "m", ""], "[2, ∞)"),
        ("mode", "gd", None, ["method"], "{gd, adam}"),
        ("sizes", "1, 2", "none", [""], ""),
        ("seed", "0", None, ["of the generator"], ""),
    ]


def test_the_source_is_linked_where_the_book_has_an_address(toy):
    known, url = Source("notebooks/a.md", "0123456789abcdef"), "https://example.org/r"

    def said(*given):
        text = render("ending.md", ending(toy, MADE, *given))
        return next(line for line in text.splitlines() if line.startswith("Source: "))

    assert said(known, url) == (
        f"Source: [`notebooks/a.md`](<{url}/blob/0123456789abcdef/notebooks/a.md>), "
        "commit `0123456789`."
    )
    here = "Source: `notebooks/a.md` in the repository of this book"
    assert said(known) == f"{here}, commit `0123456789`."
    assert said(Source("notebooks/a.md"), url) == f"{here}."


def test_a_notebook_opens_elsewhere_where_the_book_has_an_address_on_github(toy):
    known = Source("notebooks/a b.md", "0123")
    text = render("ending.md", ending(toy, MADE, known, "https://github.com/lab/our.book.git"))
    assert "gh/lab/our.book/0123?urlpath=lab%2Ftree%2Fnotebooks%2Fa%20b.md>)" in text
    assert "https://codespaces.new/lab/our.book?quickstart=1" in text


@pytest.mark.parametrize("address", ["", "https://example.org/a/b", "https://github.com/lab"])
def test_without_such_an_address_or_a_commit_nothing_is_offered(toy, address):
    assert ending(toy, MADE, Source("a.md", "0123"), address).github == ""
    assert ending(toy, MADE, Source("a.md"), "https://github.com/a/b").github == ""
    assert "inder" not in "".join(added(toy, [text("# A coin")]))
