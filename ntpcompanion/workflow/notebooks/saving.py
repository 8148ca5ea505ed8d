"""A text notebook saved by an editor that knows cells and no text: what did not change keeps its
lines, and what a text cannot hold is an error.

jupytext writes a notebook anew from its cells, and lays out front matter, tags and captions as it
likes: opening and saving a notebook would change a hundred lines. So what is saved is merged: the
changes from jupytext's text of what is stored to its text of what is saved, made in what is stored.
"""

import contextlib
import copy
import re
import tempfile
from pathlib import Path
from typing import Any

import jupytext
from jupytext.config import JupytextConfiguration

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json
from ntpcompanion.workflow.base.processes import run
from ntpcompanion.workflow.base.texts import MARK, plain_lines, require_plain_lines

FORMAT = "md:myst"
# what jupytext, a kernel and an editor write into the front matter of their own accord
_OF_TOOLS = {"text_representation", "default_lexer", "notebook_metadata_filter"}
# what they note beside a cell; a text notebook does without
_BESIDE_CELLS = {
    "autoscroll", "collapsed", "scrolled", "trusted", "execution", "ExecuteTime",
    "lines_to_next_cell", "lines_to_end_of_cell_marker", "cell_marker", "skipline", "noskipline",
}  # fmt: skip
# Changes of neighbouring lines are at odds in a merge: the options of a cell, which are laid out in
# many ways, are kept apart from its source by lines that no text notebook holds.
_STOP = "\x1f\n"
_SOURCE = re.compile(
    r"^(```\{code-cell\}[^\n]*\n(?:---\n.*?^---\n|(?::[^\n]*\n)*))(\n?)", re.MULTILINE | re.DOTALL
)
_MARKED = rf"\1{_STOP}\2{_STOP}"


def require_whole(node: Any, text: str, where: str) -> None:
    """Raises WorkflowError, which begins with `where`, if a `text` that jupytext made of a notebook
    does not give back every code and raw cell, every text cell with metadata, and all pictures.
    Outputs, ids and empty lines around a source are left out, as they always are.
    """
    cells = [(f"{where}, cell {i} ({c.source[:30]!r})", c) for i, c in enumerate(node.cells, 1)]
    for location, cell in cells:
        require_plain_lines(cell.source, location)
        if cell.get("attachments") and "attachment:" in cell.source:
            raise WorkflowError(
                f"{location}: a picture was pasted, and a text notebook has no place for it. Save "
                "it as a file in book/assets, and write `![what it shows](../assets/FILE)` in its "
                "place."
            )
    require_plain_lines(text, f"{where}, as it would be saved")
    try:
        stored = iter([_essence(cell) for cell in jupytext.reads(text, fmt=FORMAT).cells])
    except Exception as error:  # jupytext raises whatever YAML, JSON or it itself meets
        raise WorkflowError(
            f"{where}: a text notebook of these cells could not be read again: {error}"
        ) from error
    for location, cell in cells:
        essence = _essence(cell)
        # text without metadata may be divided or joined, as its lines stay
        if (cell.cell_type != "markdown" or essence[2] != "{}") and essence not in stored:
            raise WorkflowError(
                f"{location}: a text notebook would not give this cell back as it is. A text "
                "cell above may take it in, by a fence or an HTML comment that it leaves open; or "
                "its first line, which begins with `:` or `---`, or its metadata, would be read "
                "otherwise. Change that, then save again."
            )


def _essence(cell: Any) -> tuple[str, str, str]:
    source = re.sub(r"\A(?:[ \t]*\n)+|\s+\Z", "", cell.source)
    metadata = {key: value for key, value in cell.metadata.items() if key not in _BESIDE_CELLS}
    return cell.cell_type, source, canonical_json(metadata)


def keep_lines(before: str, after: str) -> str:
    """The text `after`, in which every cell that means what it meant in `before` has its lines from
    there; the front matter counts as a cell.

    Parameters
    ----------
    before
        the text notebook as it stands in the file.
    after
        the one that jupytext made of the cells of an editor.

    Returns
    -------
    str
        `before` itself where no cell has changed; `after` itself where the lines of both cannot be
        put together without changing a cell, or there is no git, which merges them. Lines end as
        most of `before` do.

    Raises
    ------
    WorkflowError
        a text that holds what some programs take for the end of a line.
    """
    lines, mark = plain_lines(before, "The stored notebook"), before[: before.startswith(MARK)]
    asked = plain_lines(after, "The notebook to be saved")
    stored, saved = (jupytext.reads(text, fmt=FORMAT) for text in (lines, asked))
    known, asked_entries = _entries(stored.metadata), _entries(saved.metadata)
    # a text without front matter gets none that only says what tools know
    if known == asked_entries or not (known or asked_entries.keys() - {"jupytext", "kernelspec"}):
        if cells(lines) == cells(asked):
            return before
        saved.metadata = copy.deepcopy(stored.metadata)
    everything = JupytextConfiguration(notebook_metadata_filter="all")
    base, theirs = (jupytext.writes(each, FORMAT, config=everything) for each in (stored, saved))
    merged = _merged(*(_SOURCE.sub(_MARKED, text) for text in (lines, base, theirs)))
    merged = merged.replace(_STOP, "")
    right = False
    with contextlib.suppress(Exception):  # jupytext raises whatever YAML meets in a front matter
        entries = _entries(jupytext.reads(merged, fmt=FORMAT).metadata)
        right = cells(merged) == cells(asked) and entries == _entries(saved.metadata)
    if not right:
        merged = asked
    of_windows = 2 * before.count("\r\n") > before.count("\n")
    return mark + (merged.replace("\n", "\r\n") if of_windows else merged)


def _merged(ours: str, base: str, theirs: str) -> str:
    """The changes from `base` to `theirs`, made in `ours`, and `theirs` where both are at odds."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("ours", "base", "theirs")]
        for path, text in zip(paths, (ours, base, theirs), strict=True):
            path.write_text(text, encoding="utf-8", newline="")
        try:
            done = run(["git", "merge-file", "-q", "-p", "--theirs", *map(str, paths)], limit=60)
        except OSError:
            return theirs
        return theirs if done.code else done.output


def cells(text: str) -> list[tuple[str, str, str]]:
    """Kind, source and metadata of each cell of a text notebook."""
    node = jupytext.reads(text, fmt=FORMAT)
    return [(cell.cell_type, cell.source, canonical_json(cell.metadata)) for cell in node.cells]


def _entries(metadata: Any) -> dict[str, object]:
    """What the front matter says beside what tools write into it."""
    entries = {**metadata, **metadata.get("jupyter", {})}
    entries["jupytext"] = {
        k: v for k, v in entries.get("jupytext", {}).items() if k not in _OF_TOOLS
    }
    # what a kernel is called differs from machine to machine
    entries["kernelspec"] = entries.get("kernelspec", {}).get("name")
    return {k: v for k, v in entries.items() if v and k not in ("jupyter", "language_info")}
