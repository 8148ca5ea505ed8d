import nbformat
import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.notebooks.titles import require_title


def title(*texts):
    cells = [nbformat.v4.new_markdown_cell(text) for text in texts]
    cells.insert(0, nbformat.v4.new_code_cell("# a comment"))
    found = require_title(nbformat.v4.new_notebook(cells=cells), "here")
    return found.text, found.cell.source, found.lines


@pytest.mark.parametrize(
    ("texts", "text", "lines"),
    [
        (["# A coin\nProse"], "A coin", 1),
        (["(coin)=\n# A *coin* #\n"], "A *coin*", 2),
        (["(coin)=\nA coin\n======\n\nProse"], "A coin", 3),
        (["Two\nlines\n=\nProse"], "Two lines", 3),
        (["Prose\n\n## Smaller", "# The title"], "The title", 1),
        (
            [
                "```\n# code\n```\n\n:::{note}\n# inside\n:::\n> # said\n\n$$\na\n=\nb\n$$\n\n% # "
                "hidden\n# The title"
            ],
            "The title",
            17,
        ),
    ],
)
def test_the_first_heading_of_level_one_in_either_form(texts, text, lines):
    assert title(*texts) == (text, texts[-1], lines)


@pytest.mark.parametrize(
    "text",
    ["Prose", "## Smaller", "#no space", "- # in a list", "\\begin{align}\na\n=\nb\n\\end{align}"],
)
def test_where_there_is_none(text):
    with pytest.raises(WorkflowError, match="here has no title"):
        title(text)
