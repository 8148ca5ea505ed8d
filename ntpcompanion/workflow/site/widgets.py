"""Interactive figures of a page: their scripts and style are loaded by pages that show one, and by
no other.
"""

import copy
import re
from collections.abc import Collection
from pathlib import Path

import nbformat

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.site.figures import compact

COMMON = ("plot", "widget")  # the scripts that all of them need, in their order
STATIC = "../_static/widgets"  # from a page of a chapter
_NAME = re.compile(r'<figure class="ntp-widget" data-widget="(\w+)"')
_PICTURE = re.compile(r"<svg\b.*?</svg>", re.DOTALL)


def known_widgets(book: Path) -> list[str]:
    """The names of the interactive figures that have a script in the folder `book`."""
    scripts = (book / "assets" / "widgets").glob("*.js")
    return sorted(path.stem for path in scripts if path.stem not in COMMON)


def load_widgets(page: nbformat.NotebookNode, known: Collection[str], where: str) -> None:
    """Add to the first interactive figure of a page the style and scripts of those it shows, and
    give all their pictures the colours of the page's theme; a page that has them stays as it is.

    Raises WorkflowError for a figure that has no script.
    """
    names: list[str] = []
    for cell in page.cells:
        for index, output in enumerate(cell.get("outputs", [])):
            text = output.get("data", {}).get("text/html", "")
            if found := _NAME.findall(text):
                names += found
                cell["outputs"][index] = output = copy.deepcopy(output)
                output.data["text/html"] = _PICTURE.sub(lambda svg: _themed(svg[0], found[0]), text)
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
    if STATIC not in texts[first]:
        outputs[first].data["text/html"] += "".join(tags)


def _themed(svg: str, name: str) -> str:
    """The picture as other figures of a page are drawn; what already is, stays."""
    return svg if "var(--ntp" in svg else compact(svg, f"ntp-{name}-", name)
