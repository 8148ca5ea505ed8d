"""Interactive figures of a page: their scripts and style are loaded by pages that show one, and by
no other.
"""

import copy
import re
from collections.abc import Collection
from pathlib import Path

import nbformat

from ntpcompanion.workflow.base.errors import WorkflowError

COMMON = ("plot", "widget")  # the scripts that all of them need, in their order
STATIC = "../_static/widgets"  # from a page of a chapter


def known_widgets(book: Path) -> list[str]:
    """The names of the interactive figures that have a script in the folder `book`."""
    scripts = (book / "assets" / "widgets").glob("*.js")
    return sorted(path.stem for path in scripts if path.stem not in COMMON)


def load_widgets(page: nbformat.NotebookNode, known: Collection[str], where: str) -> None:
    """Add to the first interactive figure of a page the style and scripts of those it shows; a page
    that has them stays as it is.

    Raises WorkflowError for a figure that has no script.
    """
    shown = [
        (cell, index, name)
        for cell in page.cells
        for index, output in enumerate(cell.get("outputs", []))
        for name in re.findall(
            r'<figure class="ntp-widget" data-widget="(\w+)"',
            output.get("data", {}).get("text/html", ""),
        )
    ]
    if unknown := sorted({name for *_, name in shown} - {*known}):
        raise WorkflowError(
            f"Notebook {where!r} shows the interactive figure {unknown[0]!r}, which has no script. "
            f"Known are {', '.join(sorted(known)) or 'none'}. Correct the name, or add "
            f"book/assets/widgets/{unknown[0]}.js."
        )
    if not shown:
        return
    cell, index, _ = shown[0]
    first = copy.deepcopy(cell["outputs"][index])
    if STATIC not in first.data["text/html"]:
        names = [*COMMON, *dict.fromkeys(name for *_, name in shown)]
        tags = [f'<link rel="stylesheet" href="{STATIC}/widgets.css">']
        tags += [f'<script defer src="{STATIC}/{name}.js"></script>' for name in names]
        first.data["text/html"] += "".join(tags)
        cell["outputs"][index] = first
