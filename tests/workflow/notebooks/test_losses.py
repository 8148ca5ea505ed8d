"""What a notebook of cells would lose in a text notebook."""

import copy

import nbformat
import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.notebooks.losses import require_whole
from ntpcompanion.workflow.notebooks.saving import keep_lines
from tests.toy import COIN
from tests.workflow.notebooks.test_saving import opened, written

FENCED = "```\ncode\n```"
CODE = ["", "   ", ":x", "\n:x", "\n\n:x", "---\nx: 1\n---", "\n---\na", ":tags: [a]\nx = 1", "```"]
CODE += [f"x = '''\n{FENCED}\n'''", "%%html\n<p>", "\n\nx = 1\n\n", "x = 1   \ny", "\tx", "# +++"]
TEXTS = [
    "",
    "a  \nb",
    "+++",
    "a\n+++\nb",
    '+++ {"a": 1}',
    FENCED,
    "   indented",
    "\n\na",
    "---\na: 1",
]
TEXTS += [
    "```{code-cell}\n1\n```",
    "1. x\n\n   ```{code-cell}\n   1",
    "$$\nopen",
    ":::{note}\nopen",
]
TAKE_IN = ["```\nopen", "~~~", "<!-- open", "<script>", "+++ {a"]  # the cells below
ODD = {"code": CODE, "markdown": [*TEXTS, *TAKE_IN], "raw": ["", "raw $x$", FENCED, "---\na\n---"]}
PRESENT = {"tags": ["a"], "format": "text/latex", "raw_mimetype": "text/html", "1": None}
PRESENT |= {"slideshow": {"slide_type": "skip"}, "a": "2026-01-01"}


def essence(cell):
    return cell.cell_type, cell.source.strip(), cell.metadata


@pytest.mark.parametrize(
    ("kind", "source", "metadata"),
    [(kind, source, {}) for kind in ODD for source in ODD[kind]]
    + [(kind, "x", metadata) for kind in ODD for metadata in (PRESENT, {"a b": 1})],
    ids=ascii,
)
def test_every_cell_comes_back_or_is_named(kind, source, metadata):
    node = opened(COIN)
    cell = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}.get(
        kind, nbformat.v4.new_raw_cell
    )(source, metadata=metadata)
    node.cells.insert(2, cell)
    if source in TAKE_IN or "a b" in metadata:
        with pytest.raises(WorkflowError, match=r"^here(, cell [34] |: a text notebook of these)"):
            require_whole(node, written, opened, "here")
        return
    require_whole(node, written, opened, "here")
    text = keep_lines(COIN, written(copy.deepcopy(node)))
    free = kind == "markdown" and not metadata  # a text may come back as two, or with another
    stays = [essence(each) for each in node.cells if not (free and each is cell)]
    assert [each for each in map(essence, opened(text).cells) if each in stays] == stays
    # `+++` divides two texts, or nothing
    assert all(line in text for line in source.strip().split("\n") if not line.startswith("+++"))


def test_what_nobody_needs_may_be_lost():
    node = opened(COIN)
    node.cells[0].attachments = {"a.png": {"image/png": ""}}  # pasted, and taken out again
    node.cells[1].metadata |= {"trusted": True, "execution": {"iopub.status.busy": "2026"}}
    node.cells[1].outputs = [nbformat.v4.new_output("stream", text="seen")]
    node.cells.insert(1, nbformat.v4.new_markdown_cell("\n"))
    require_whole(node, written, opened, "here")
