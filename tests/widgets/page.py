"""Interactive figures as a reader meets them: a page on disk, made as the book makes it, in a
browser without network.
"""

import shutil
from pathlib import Path

import nbformat

from ntpcompanion.plots.drawing.widget import Widget
from ntpcompanion.workflow.chapters.widgets import known_widgets, load_widgets
from ntpcompanion.workflow.site.look import ASSETS

BOOK = Path(__file__).parents[2] / "book"
PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"><link rel="stylesheet" href="../_static/companion.css">
<style>body {{ margin: 8px; font-family: sans-serif }}</style></head>
<body><h1>A page</h1>{body}</body></html>"""
# what sticks out of the page to the right, beside what scrolls in its own box
TOO_WIDE = """() => [...document.querySelectorAll('.ntp-widget-live, .ntp-widget-live *')]
    .filter(node => node.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .map(node => node.outerHTML.slice(0, 80))"""


def write_page(folder: Path, widget: Widget, scripts: dict[str, str] | None = None) -> Path:
    """The page of a widget below `folder`, with the scripts of the book and `scripts` beside
    them.
    """
    assets = folder / "book" / "assets"
    shutil.copytree(BOOK / "assets" / "widgets", assets / "widgets")
    for name, text in (scripts or {}).items():
        (assets / "widgets" / f"{name}.js").write_text(text)
    output = nbformat.v4.new_output("display_data", {"text/html": widget._repr_html_()})
    page = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=[output])])
    load_widgets(page, known_widgets(folder / "book"), "page")
    assets.rename(folder / "_static")
    shutil.copytree(ASSETS, folder / "_static", dirs_exist_ok=True)
    (folder / "chapters").mkdir()
    path = folder / "chapters" / "page.html"
    path.write_text(PAGE.format(body=page.cells[0].outputs[0].data["text/html"]))
    return path
