"""Saving a text notebook from an editor of cells: what did not change keeps its lines."""

import copy
from difflib import unified_diff

import jupytext
import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jupytext.config import load_jupytext_config

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.notebooks.saving import FORMAT, cells, keep_lines, require_whole
from tests.marks import rest_slow
from tests.toy import COIN, ROOT

TEXT = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
ntp:
  records: [adam_bias]   # a comment
---

(label)=
# A title

Some text.
```{code-cell} ipython3
:tags: [parameters]
seed = 0
```


```{code-cell} ipython3
---
mystnb:
  figure:
    caption: |
      A caption that is long enough to be broken by a writer of YAML, who likes eighty columns
      and single quotes.
---
print(seed)
```

Last words.

+++

A second text cell.
"""
CONFIG = load_jupytext_config(str(ROOT / "notebooks"))  # that of pyproject.toml
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.md"))
MOST_SLOW = rest_slow(NOTEBOOKS, quick=NOTEBOOKS[::6])


def opened(text):
    return jupytext.reads(text, fmt=FORMAT)


def written(node):
    return jupytext.writes(node, fmt=FORMAT, config=CONFIG)


def changed_lines(before, after):
    lines = unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_that_was_run_and_not_changed_keeps_every_byte(path):
    text = path.read_text(encoding="utf-8")
    node = opened(text)
    node.metadata["kernelspec"]["display_name"] = "Python 3 (ipykernel)"
    node.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    for cell in node.cells:
        if cell.cell_type == "code":
            cell.execution_count = 7
            cell.outputs = [nbformat.v4.new_output("stream", text="seen")]
    assert written(node) != text, "jupytext lays it out in its own way"
    assert keep_lines(text, written(node)) == text


@pytest.mark.parametrize("path", MOST_SLOW, ids=lambda path: path.stem)
def test_a_change_of_one_cell_changes_its_lines_only(path):
    text = path.read_text(encoding="utf-8")
    node = opened(text)
    code = [cell for cell in node.cells if cell.cell_type == "code"]
    code[0].source += "\nadded = 1"
    code[-1].source += "\n# the end"
    assert changed_lines(text, keep_lines(text, written(node))) == ["+added = 1", "+# the end"]


def test_cells_are_added_moved_and_removed_without_touching_the_others():
    node = opened(TEXT)
    node.cells.insert(2, nbformat.v4.new_code_cell("new = 1"))
    kept = keep_lines(TEXT, written(node))
    added = [line for line in changed_lines(TEXT, kept) if line != "+"]
    assert sorted(added) == ["+```", "+```{code-cell} ipython3", "+new = 1"]
    node = opened(TEXT)
    node.cells[1], node.cells[2] = node.cells[2], node.cells[1]
    kept = keep_lines(TEXT, written(node))
    assert cells(kept) == cells(written(node))
    assert "caption: |\n      A caption that is long" in kept
    assert "records: [adam_bias]   # a comment" in kept
    node = opened(TEXT)
    del node.cells[1:3]  # two text cells meet
    kept = keep_lines(TEXT, written(node))
    assert [cell.source.split("\n")[-1] for cell in opened(kept).cells] == [
        "Some text.", "Last words.", "A second text cell.",
    ]  # fmt: skip


def test_front_matter_changes_where_a_user_changes_it():
    node = opened(TEXT)
    node.metadata["ntp"]["records"] = ["adam_limit"]
    kept = keep_lines(TEXT, written(node))
    assert "adam_limit" in kept
    assert kept[kept.index("(label)=") :] == TEXT[TEXT.index("(label)=") :]
    node = opened(TEXT)
    node.metadata["kernelspec"]["name"] = "other"
    assert "name: other" in keep_lines(TEXT, written(node))


def test_lines_that_cannot_be_put_together_are_those_of_jupytext(monkeypatch):
    node = opened(TEXT)
    node.cells[0].source = "```{code-cell} ipython3\nno = 'cell'\n```"  # a text cell in an editor
    after = written(node)
    kept = keep_lines(TEXT, after)
    assert cells(kept) == cells(after)
    from ntpcompanion.workflow.notebooks import saving

    monkeypatch.setattr(saving, "_merged", lambda *_: TEXT)
    assert keep_lines(TEXT, after) == after


@pytest.mark.parametrize(
    "text",
    ["", "# A title\n", "\n\n# A title", TEXT.replace("\n", "\r\n"), "```{code-cell}\n1\n```\n"],
    ids=["empty", "no front matter", "empty lines above", "of Windows", "one cell"],
)
def test_unusual_texts_keep_every_byte(text):
    assert keep_lines(text, written(opened(text)) if text else "") == text


SOURCES = st.text(st.sampled_from("ab \n#+`:-\u00e9"), max_size=12).map(lambda text: f"x{text}x")
CELLS = st.lists(st.tuples(st.sampled_from(["markdown", "code"]), SOURCES), max_size=5)


@given(before=CELLS, after=CELLS)
def test_no_cell_is_ever_lost_or_changed(before, after):
    def text_of(given):
        new = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}
        node = opened(TEXT)
        node.cells = [new[kind](source) for kind, source in given]
        return written(node)

    old, new = text_of(before), text_of(after)
    assert cells(keep_lines(old, new)) == cells(new)


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


@pytest.mark.filterwarnings("ignore:The following metadata cannot be exported")
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
            require_whole(node, written(node), "here")
        return
    require_whole(node, written(node), "here")
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
    require_whole(node, written(node), "here")
