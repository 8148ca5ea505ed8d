"""Where the title of a notebook stands: its first heading of level one, underlined or behind a `#`,
as MyST reads it.
"""

from dataclasses import dataclass
from itertools import pairwise

import nbformat
from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin

from ntpcompanion.workflow.base.errors import WorkflowError


@dataclass(frozen=True)
class Title:
    """The `text` of a title, the `cell` that holds it, and the number of its lines down to the
    title's last one.
    """

    text: str
    cell: nbformat.NotebookNode
    lines: int


def require_title(node: nbformat.NotebookNode, where: str) -> Title:
    """The title of a notebook. Raises WorkflowError, which begins with `where`, if no text cell has
    a heading of level one outside of quotations, lists and directives.
    """
    # those parts of MyST inside which a `#`, or a line of `=`, makes no heading
    parser = (
        MarkdownIt("commonmark")
        .use(myst_block_plugin)
        .use(colon_fence_plugin)
        .use(dollarmath_plugin)
        .use(amsmath_plugin)
    )
    for cell in node.cells:
        tokens = parser.parse(cell.source) if cell.cell_type == "markdown" else []
        for opening, content in pairwise(tokens):
            of_level_one = opening.type == "heading_open" and opening.tag == "h1"
            if of_level_one and opening.level == 0 and opening.map:
                return Title(" ".join(content.content.split()), cell, opening.map[1])
    raise WorkflowError(
        f"{where} has no title. Write a heading of level one in a text cell: `# The title`."
    )


def insert_below_title(node: nbformat.NotebookNode, text: str, where: str) -> None:
    """Put a text between the title of a notebook and what follows. Raises WorkflowError, which
    begins with `where`, if there is no title.
    """
    title = require_title(node, where)
    lines = title.cell.source.split("\n")
    title.cell.source = "\n".join([*lines[: title.lines], "", text, "", *lines[title.lines :]])
