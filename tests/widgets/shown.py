"""The interactive figure of a chapter, made by the cells that make it there and no others."""

import ast
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from playwright.sync_api import Page

from ntpcompanion.plots.drawing.widget import Widget

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def state(page: Page) -> dict[str, Any]:
    """What a figure says of itself."""
    found: dict[str, Any] = page.evaluate("document.querySelector('.ntp-widget').ntpState")
    return found


def narrow(page: Page) -> None:
    """Make the window narrow, and wait until the plots are."""
    page.set_viewport_size({"width": 320, "height": 900})
    page.wait_for_function("document.querySelector('.ntp-plot svg').clientWidth < 300")


def shown_widget(notebook: str, name: str, **given: object) -> Widget:
    """What the cell with `plots.widget("name"` of a notebook shows, see `made_widget`."""
    return made_widget(notebook, name, **given)[0]


def made_widget(notebook: str, name: str, **given: object) -> tuple[Widget, dict]:
    """The same, and all that its cells have computed.

    Run are the cells of imports and of parameters, and the cells between the paragraph before the
    figure and the figure. What these take from elsewhere is `given`.
    """
    cells = jupytext.read(NOTEBOOKS / f"{notebook}.md").cells
    end = next(i for i, cell in enumerate(cells) if f'plots.widget("{name}"' in cell.source)
    begin = max(i for i in range(end) if cells[i].cell_type == "markdown")
    names: dict = {}
    for cell in filter(_is_start, cells[:begin]):
        exec(cell.source, names)
    names |= given
    for cell in cells[begin + 1 : end]:
        exec(cell.source, names)
    *lines, last = ast.parse(cells[end].source).body
    exec(compile(ast.Module(lines, []), notebook, "exec"), names)
    return eval(compile(ast.Expression(last.value), notebook, "eval"), names), names


def _is_start(cell: nbformat.NotebookNode) -> bool:
    """Whether a cell holds the parameters or nothing but imports."""
    if cell.cell_type != "code":
        return False
    imports = ast.Import | ast.ImportFrom | ast.Expr
    lines = ast.parse(cell.source).body
    only_imports = isinstance(lines[0], ast.Import | ast.ImportFrom)
    only_imports &= all(isinstance(line, imports) for line in lines)
    return "parameters" in cell.metadata.get("tags", []) or only_imports
