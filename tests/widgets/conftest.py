"""Interactive figures as a reader meets them: a page on disk, made as the book makes it, in a
browser without network.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
import nbformat
import pytest

from ntpcompanion.plots.drawing.widget import Widget
from ntpcompanion.workflow.pages.figures import known_widgets, load_widgets
from ntpcompanion.workflow.site.look import ASSETS

mpl.use("agg")
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


@pytest.fixture
def opened(browser, tmp_path):
    """`with opened(widget) as page`: its page, from disk; whatever a script or the console says is
    wrong fails the test, unless a list `faults` is given to take it.
    """

    @contextmanager
    def opening(
        widget, *, scripts=None, width=800, media="screen", faults=None, **context
    ) -> Iterator:
        path = tmp_path / "chapters" / "page.html"
        if not path.exists():
            write_page(tmp_path, widget, scripts)
        context = browser.new_context(
            viewport={"width": width, "height": 900}, offline=True, **context
        )
        page, heard = context.new_page(), [] if faults is None else faults
        page.on("pageerror", lambda error: heard.append(f"script error: {error}"))
        page.on("console", lambda message: heard.append(message.text))
        page.emulate_media(media=media)
        page.goto(path.as_uri())
        try:
            yield page
            assert page.evaluate(TOO_WIDE) == []
        finally:
            context.close()
        assert faults is not None or heard == []

    return opening
