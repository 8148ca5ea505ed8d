"""A text notebook saved by an editor that knows cells and no text: what did not change keeps its
lines.

jupytext writes a notebook anew from its cells, and lays out front matter, tags and captions as it
likes: opening and saving a notebook would change a hundred lines.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

import jupytext
from jupytext.myst import myst_to_notebook

from ntpcompanion.workflow.base.files import canonical_json
from ntpcompanion.workflow.base.texts import MARK, plain_lines

# what jupytext, a kernel and an editor write into the front matter of their own accord
_OF_TOOLS = {"text_representation", "default_lexer", "notebook_metadata_filter"}
FORMAT = "md:myst"
_FRONT, _BARE = "front matter", "front matter of tools only"


@dataclass(frozen=True)
class Block:
    """Some lines of a text notebook, without the empty ones around them.

    Fields
    ------
    text
        a cell with its fence, or the front matter.
    meaning
        equal for two blocks that differ in layout only.
    gap
        the empty lines above it.
    head
        of a cell with a fence: the lines above its source.
    about
        kind and metadata of a cell: equal for two blocks that may have one head.
    """

    text: str
    meaning: str
    gap: str
    head: str = ""
    about: str = ""


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
        put together without changing a cell. Lines end as most of `before` do.

    Raises
    ------
    WorkflowError
        a text that holds what some programs take for the end of a line.
    """
    lines, mark = plain_lines(before, "The stored notebook"), before[: before.startswith(MARK)]
    merged = _merged(lines, plain_lines(after, "The notebook to be saved"))
    if merged == lines:
        return before
    of_windows = 2 * before.count("\r\n") > before.count("\n")
    return mark + (merged.replace("\n", "\r\n") if of_windows else merged)


def _merged(before: str, after: str) -> str:
    """As `keep_lines`, of texts whose lines end in a line feed."""
    old, new = blocks(before), blocks(after)
    if new and new[0].about == _BARE and not (old and old[0].about.startswith(_FRONT)):
        new = new[1:]  # a text without front matter gets none that only says what tools know
    matcher = SequenceMatcher(
        None, [block.meaning for block in old], [block.meaning for block in new], autojunk=False
    )
    moved = {block.meaning: block for block in old}
    merged: list[tuple[Block, bool]] = []  # with whether the empty lines above it are to be kept
    for operation, first, last, start, end in matcher.get_opcodes():
        if operation == "equal":
            merged += [(block, index > 0) for index, block in enumerate(old[first:last])]
        else:
            edited = last - first == end - start
            pairs = zip(
                old[first:last] if edited else [None] * (end - start), new[start:end], strict=True
            )
            merged += [
                (moved.get(block.meaning) or _with_head(was, block), False) for was, block in pairs
            ]
    if [block for block, _ in merged] == old:
        return before
    text = _joined(merged)
    return text if cells(text) == cells(after) else after


def cells(text: str) -> list[tuple[str, str, str]]:
    """Kind, source and metadata of each cell of a text notebook."""
    node = jupytext.reads(text, fmt=FORMAT)
    return [(cell.cell_type, cell.source, canonical_json(cell.metadata)) for cell in node.cells]


def blocks(text: str) -> list[Block]:
    """The front matter of a text notebook, if it has one, and its cells, in order."""
    node = myst_to_notebook(text, add_source_map=True)
    lines = _lines(text)
    starts = [
        _opening(lines, line, cell.cell_type)
        for line, cell in zip(node.metadata.pop("source_map"), node.cells, strict=True)
    ]
    result: list[Block] = []
    if _stripped(front := "".join(lines[: starts[0] if starts else len(lines)])):
        entries = _entries(node.metadata)
        about = _FRONT if _says_more(entries) else _BARE
        result.append(Block(_stripped(front), canonical_json([_FRONT, entries]), "", about=about))
    above = ""
    for (start, end), cell in zip(pairwise([*starts, len(lines)]), node.cells, strict=True):
        whole = "".join(lines[start:end])
        after_text = above == cell.cell_type == "markdown"  # then `+++` stands between the two
        about = canonical_json([cell.cell_type, cell.metadata, after_text])
        shown, meaning = _stripped(whole), canonical_json([about, cell.source])
        head = "" if cell.cell_type == "markdown" else _head(shown, cell.source)
        result.append(Block(shown, meaning, _gap(lines, start), head, about))
        above = cell.cell_type
    return result


def _head(text: str, source: str) -> str:
    """What stands above the source of a cell: its fence and its options."""
    inside = _lines(text)[:-1]
    return "".join(inside[: len(inside) - len(_lines(source))])


def _with_head(was: Block | None, block: Block) -> Block:
    """A cell whose source alone was edited keeps the layout of its options."""
    if was is None or not block.head or (was.about, was.head[:4]) != (block.about, block.head[:4]):
        return block
    return replace(block, text=was.head + block.text.removeprefix(block.head))


def _opening(lines: Sequence[str], line: int, kind: str) -> int:
    """The first line of a cell, from the one that jupytext's parser names."""
    if kind != "markdown":
        return line - 1  # the parser names the line below the fence
    if line and lines[line - 1].startswith("+++"):
        return line - 1
    while line < len(lines) and not lines[line].strip():
        line += 1
    return line


def _entries(metadata: Any) -> dict[str, object]:
    """What the front matter says beside what tools write into it."""
    entries = {
        **metadata,
        "jupytext": {k: v for k, v in metadata.get("jupytext", {}).items() if k not in _OF_TOOLS},
        # what a kernel is called differs from machine to machine
        "kernelspec": metadata.get("kernelspec", {}).get("name"),
    }
    return {key: value for key, value in entries.items() if value}


def _says_more(entries: Mapping[str, Any]) -> bool:
    """Whether a front matter says what its text needs, and not only what tools know of it.

    jupytext's Markdown, as which a page without front matter is saved, has what they know under
    one key.
    """
    inside = entries.get("jupyter", {}).keys() - {"jupytext", "kernelspec"}
    return bool(inside or entries.keys() - {"jupyter", "kernelspec"})


def _gap(lines: Sequence[str], start: int) -> str:
    first = start
    while first and not lines[first - 1].strip():
        first -= 1
    return "".join(lines[first:start])


def _lines(text: str) -> list[str]:
    """The lines with their ends: not those of `str.splitlines`, which ends them in other places
    than MyST does.
    """
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _stripped(text: str) -> str:
    """Without the empty lines at both ends; the indentation of its first line stays."""
    lines = _lines(text)
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    return "".join(lines).rstrip("\n")


def _joined(merged: Sequence[tuple[Block, bool]]) -> str:
    parts = [
        (("\n" + block.gap if keeps else "\n\n") if index else "") + block.text
        for index, (block, keeps) in enumerate(merged)
    ]
    return "".join(parts) + "\n"
