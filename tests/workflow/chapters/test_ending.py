"""The end of a chapter, added to pages made by hand."""

import re
from dataclasses import replace

import nbformat
import pytest

from ntpcompanion.workflow.chapters.citation import Book, Chapter
from ntpcompanion.workflow.chapters.ending import (
    Source,
    add_ending,
    command,
    launch_lines,
    parameters_table,
    seconds,
    source_line,
)
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.notebooks.parameters import parse_parameters
from tests.workflow.claims.test_baselines import result

CHAPTER = Chapter(Book("A book", "Its authors"), "coin", "A coin", "2026")
MADE = replace(
    result("coin"),
    profile="book",
    started="2026-01-02T03:04:05+00:00",
    seconds=2.4,
    parameters={"n": 1000, "seed": 0},
    versions={"python": "3.11.7"},
    hardware={"processor": "A <chip>", "cores": 2},
)


def text(*lines):
    return nbformat.v4.new_markdown_cell("\n".join(lines))


def added(toy, cells):
    coin = find_notebooks(toy.project)["coin"]
    return [cell.source for cell in add_ending(cells, coin, MADE, CHAPTER, Source("coin.md"))]


def test_the_command_says_what_it_took_and_where():
    said = command(MADE)
    assert said.startswith(
        "This repeats the page:\n\n```bash\nntpcompanion execute coin\n```\n\n"
        "It took 2.4 seconds on A &lt;chip&gt;, 2 cores, Python 3.11.7, 2026-01-02 ("
    )
    assert "execute coin --profile smoke\n" in command(replace(MADE, profile="smoke"))
    assert "execute 'münze zwei'\n" in command(replace(MADE, notebook="münze zwei"))


@pytest.mark.parametrize(
    ("value", "said"), [(0.04, "0.0"), (9.94, "9.9"), (9.96, "10"), (96.4, "96")]
)
def test_short_durations_have_a_decimal(value, said):
    assert seconds(value) == f"{said} seconds"


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


def test_parameters_say_value_default_meaning_and_range():
    source = 'n = 9  # draws of `m` <m>  [2, inf)\nmode = "gd"  # method  {gd, adam}\n'
    source += "sizes = []\nseed = 0"
    table = parameters_table(
        parse_parameters(source, "x"), {"n": 4, "mode": "gd", "sizes": [1, 2], "seed": 0}
    )
    rows = [
        '<code>n</code></th><td>4 <span class="ntp-default">(default 9)</span></td>'
        "<td>draws of <code>m</code> &lt;m&gt;</td><td>[2, ∞)</td>",
        "<code>mode</code></th><td>gd</td><td>method</td><td>{gd, adam}</td>",
        '<code>sizes</code></th><td>1, 2 <span class="ntp-default">(default none)</span></td>'
        "<td></td><td></td>",
        "<code>seed</code></th><td>0</td><td></td><td></td>",
    ]
    assert all(row in table for row in rows)
    assert table.startswith('<details class="ntp-fold"><summary>4 parameters')
    assert "\n\n" not in table, "an empty line would end the HTML of a MyST text"


def test_the_source_is_linked_where_the_book_has_an_address():
    known = Source("notebooks/a.md", "0123456789abcdef")
    url = "https://example.org/r"
    assert source_line(known, url) == (
        f"Source: [`notebooks/a.md`](<{url}/blob/0123456789abcdef/notebooks/a.md>), "
        "commit `0123456789`."
    )
    here = "Source: `notebooks/a.md` in the repository of this book"
    assert source_line(known, "") == f"{here}, commit `0123456789`."
    assert source_line(Source("notebooks/a.md"), url) == f"{here}."


def test_a_notebook_opens_elsewhere_where_the_book_has_an_address_on_github():
    known = Source("notebooks/a b.md", "0123456789abcdef")
    (line,) = launch_lines(known, "https://github.com/lab/our.book.git")
    binder, space = re.findall(r"\(<(.*?)>\)", line)
    assert binder == (
        "https://mybinder.org/v2/gh/lab/our.book/0123456789abcdef"
        "?urlpath=lab%2Ftree%2Fnotebooks%2Fa%20b.md"
    )
    assert space == "https://codespaces.new/lab/our.book?quickstart=1"


@pytest.mark.parametrize("address", ["", "https://example.org/a/b", "https://github.com/lab"])
def test_without_such_an_address_or_a_commit_nothing_is_offered(toy, address):
    assert launch_lines(Source("notebooks/a.md", "0123"), address) == []
    assert launch_lines(Source("notebooks/a.md"), "https://github.com/a/b") == []
    assert "inder" not in "".join(added(toy, [text("# A coin")]))


def test_the_setting_puts_source_and_launch_on_the_page(toy):
    coin = find_notebooks(toy.project)["coin"]
    chapter = replace(CHAPTER, book=replace(CHAPTER.book, repository="https://github.com/a/b"))
    cells = add_ending([text("# A coin")], coin, MADE, chapter, Source("coin.md", "0123"))
    page = cells[-1].source
    assert "](<https://github.com/a/b/blob/0123/coin.md>)" in page
    assert "](<https://mybinder.org/v2/gh/a/b/0123?urlpath=lab%2Ftree%2Fcoin.md>)" in page
