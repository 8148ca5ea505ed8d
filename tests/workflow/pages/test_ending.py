"""The end of a chapter, added to pages made by hand."""

from dataclasses import replace

import nbformat

from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.pages.cards import Ending, add_ending
from tests.workflow.pages.views import run_that

MADE = replace(run_that("A <chip>"), parameters={"n": 1000, "seed": 0})


def text(*lines):
    return nbformat.v4.new_markdown_cell("\n".join(lines))


def ending(toy, made=MADE):
    return Ending(find_notebooks(toy.project)["coin"], made)


def added(toy, cells):
    return [cell.source for cell in add_ending(cells, ending(toy))]


def test_the_ending_stands_below_its_heading_or_at_the_end(toy):
    (alone, end) = added(toy, [text("# A coin")])
    assert alone == "# A coin"
    assert end.startswith("## Run this yourself\n\nThis repeats the page:\n\n```bash")
    for part in ("2 parameters", "`notebooks/coin.md`"):
        assert part in end
    own, after = added(toy, [text("A.", "## Run this yourself", "Own.", "## Notes"), text("Z")])
    assert own == f"A.\n{end}\n\nOwn.\n## Notes"
    assert after == "Z"


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
