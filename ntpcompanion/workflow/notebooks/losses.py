"""What a notebook in an editor of cells would lose in a text notebook."""

import re
import warnings
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json
from ntpcompanion.workflow.base.texts import require_plain_lines

# what an editor, a kernel or jupytext notes beside a cell; a text notebook does without
_OF_TOOLS = {
    "autoscroll", "collapsed", "scrolled", "trusted", "execution", "ExecuteTime",
    "lines_to_next_cell", "lines_to_end_of_cell_marker", "cell_marker", "skipline", "noskipline",
}  # fmt: skip


def require_whole(
    node: Any, write: Callable[[Any], str], read: Callable[[str], Any], where: str
) -> None:
    """Check that a text notebook gives back what the cells of an editor hold: every code cell and
    raw cell with its source and metadata, every text, its metadata and its pictures. Outputs, ids
    and empty lines around a source are left out, as they always are.

    Parameters
    ----------
    node
        the notebook of the editor.
    write, read
        make a text of a notebook, and a notebook of a text.
    where
        how the message begins.

    Raises
    ------
    WorkflowError
        what would be lost, and in which cell.
    """
    locations = [
        f"{where}, cell {i} ({cell.source[:30]!r})" for i, cell in enumerate(node.cells, 1)
    ]
    for location, cell in zip(locations, node.cells, strict=True):
        require_plain_lines(cell.source, location)
        _require_no_picture(cell, location)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what jupytext leaves out is seen below
        try:
            require_plain_lines(text := write(node), f"{where}, as it would be saved")
            stored = iter([_essence(cell) for cell in read(text).cells])
        except WorkflowError:
            raise
        except Exception as error:  # jupytext raises whatever YAML, JSON or it itself meets
            raise WorkflowError(
                f"{where}: a text notebook of these cells could not be read again: {error}"
            ) from error
    for location, cell in zip(locations, node.cells, strict=True):
        if _counts(cell) and _essence(cell) not in stored:
            raise WorkflowError(
                f"{location}: a text notebook would not give this cell back as it is. A text "
                "cell above may take it in, by a fence or an HTML comment that it leaves open; or "
                "its first line, which begins with `:` or `---`, or its metadata, would be read "
                "otherwise. Change that, then save again."
            )


def _require_no_picture(cell: Any, where: str) -> None:
    for name in cell.get("attachments", {}):
        if f"attachment:{name}" in cell.source or f"attachment:{quote(name)}" in cell.source:
            raise WorkflowError(
                f"{where}: the picture {name!r} was pasted, and a text notebook has no place for "
                "it. Save it as a file in book/assets, and write `![what it shows](../assets/"
                f"{quote(name)})` in its place."
            )


def _counts(cell: Any) -> bool:
    """Whether a cell must come back as it is: text without metadata may be divided or joined, as
    its lines stay.
    """
    return cell.cell_type != "markdown" or bool(_metadata(cell))


def _essence(cell: Any) -> tuple[str, str, str]:
    source = re.sub(r"\A(?:[ \t]*\n)+|\s+\Z", "", cell.source)
    return cell.cell_type, source, canonical_json(_metadata(cell))


def _metadata(cell: Any) -> dict[str, Any]:
    return {key: value for key, value in cell.metadata.items() if key not in _OF_TOOLS}
