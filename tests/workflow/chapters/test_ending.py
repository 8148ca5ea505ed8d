"""The end of a chapter, added to pages made by hand."""

from dataclasses import replace

import nbformat

from ntpcompanion.workflow.chapters.citation import Book
from ntpcompanion.workflow.chapters.ending import Ending, add_ending
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from tests.workflow.chapters.views import run_that

MADE = replace(run_that("A <chip>"), parameters={"n": 1000, "seed": 0})


def text(*lines):
    return nbformat.v4.new_markdown_cell("\n".join(lines))


def ending(toy, made=MADE):
    return Ending(
        find_notebooks(toy.project)["coin"], made, Book("A book", "Its authors"), "coin.md"
    )


def added(toy, cells):
    return [cell.source for cell in add_ending(cells, ending(toy))]


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
