"""Interactive figures of a page: their scripts and style are loaded by pages that show one, and by
no other.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

import nbformat

from ntpcompanion.settings import COLOURS
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.chapters.figures import compact
from ntpcompanion.workflow.running.results import as_run, draw

COMMON = ("plot", "widget")  # the scripts that all of them need, in their order
STATIC = "../_static/widgets"  # from a page of a chapter
_NAME = re.compile(r'<figure class="ntp-widget" data-widget="(\w+)"')
_PICTURE = re.compile(r"<svg\b.*?</svg>", re.DOTALL)


def known_widgets(book: Path) -> list[str]:
    """The names of the interactive figures that have a script in the folder `book`."""
    return sorted(path.stem for path in (book / "assets" / "widgets").glob("*.js"))


def load_widgets(
    page: nbformat.NotebookNode,
    known: Collection[str],
    where: str,
    colours: Mapping[str, str] = COLOURS,
) -> None:
    """Add to the first interactive figure of a page the style and scripts of those it shows, and
    give all their pictures the `colours` of the page's theme.

    Raises WorkflowError for a figure that has no script.
    """
    names: list[str] = []
    for cell in page.cells:
        for index, output in enumerate(cell.get("outputs", [])):
            if matches := _NAME.findall(output.get("data", {}).get("text/html", "")):
                names += matches
                cell["outputs"][index] = made = as_run(output)
                themed = _PICTURE.sub(
                    lambda svg: compact(svg[0], f"ntp-{matches[0]}-", matches[0], colours),
                    made.data["text/html"],
                )
                draw(made, themed)
    if unknown := sorted({*names} - {*known}):
        raise WorkflowError(
            f"Notebook {where!r} shows the interactive figure {unknown[0]!r}, which has no script. "
            f"Known are {', '.join(sorted(known)) or 'none'}. Correct the name, or add "
            f"book/assets/widgets/{unknown[0]}.js."
        )
    if names:
        _add_tags(page, names)


def _add_tags(page: nbformat.NotebookNode, names: list[str]) -> None:
    tags = [f'<link rel="stylesheet" href="{STATIC}/widgets.css">']
    scripts = [*COMMON, *dict.fromkeys(names)]
    tags += [f'<script defer src="{STATIC}/{name}.js"></script>' for name in scripts]
    outputs = [output for cell in page.cells for output in cell.get("outputs", [])]
    texts = [output.get("data", {}).get("text/html", "") for output in outputs]
    first = next(index for index, text in enumerate(texts) if _NAME.search(text))
    outputs[first].data["text/html"] += "".join(tags)
