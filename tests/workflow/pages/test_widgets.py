import copy
import re

import nbformat

from ntpcompanion.workflow.pages.figures import known_widgets, load_widgets
from ntpcompanion.workflow.running.results import outputs_digest
from tests.refusing import refused


def shows(*names):
    figures = [f'<figure class="ntp-widget" data-widget="{name}"></figure>' for name in names]
    outputs = [nbformat.v4.new_output("display_data", {"text/html": each}) for each in figures]
    plain = [
        nbformat.v4.new_output("stream", text="data-widget"),
        nbformat.v4.new_output("display_data", {"text/html": "<b>1</b>"}),
    ]
    cells = [nbformat.v4.new_markdown_cell("Prose."), nbformat.v4.new_code_cell(outputs=plain)]
    return nbformat.v4.new_notebook(
        cells=cells + [nbformat.v4.new_code_cell(outputs=[each]) for each in outputs]
    )


def loaded(page):
    text = "".join(
        output.get("data", {}).get("text/html", "")
        for cell in page.cells
        for output in cell.get("outputs", [])
    )
    return re.findall(r'(?:src|href)="\.\./_static/widgets/([\w.]+)"', text)


def test_a_page_loads_what_it_shows_once_and_in_order():
    page = shows("valley", "plane", "valley")
    load_widgets(page, ["plane", "unused", "valley"], "chapter")
    made = ["widgets.css", "plot.js", "widget.js", "valley.js", "plane.js"]
    assert loaded(page) == made
    again = copy.deepcopy(page)
    load_widgets(again, ["plane", "unused", "valley"], "chapter")
    assert again == page


def test_the_digest_of_a_run_is_that_of_its_page():
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><path style="fill: #029e73" d="M0 0"/></svg>'
    page = shows("plane")
    page.cells[-1].outputs[0].data["text/html"] += svg
    before = outputs_digest(page)
    load_widgets(page, ["plane"], "chapter")
    assert "var(--ntp-measurement" in page.cells[-1].outputs[0].data["text/html"]
    assert outputs_digest(page) == before
    page.cells[-1].outputs[0].metadata["ntp-ran"] += "forged"
    assert outputs_digest(page) != before


def test_an_unknown_widget_is_an_error_that_lists_the_known_ones(tmp_path):
    folder = tmp_path / "assets" / "widgets"
    folder.mkdir(parents=True)
    for name in ("plane.js", "valley.js", "notes.md"):
        (folder / name).touch()
    assert known_widgets(tmp_path) == ["plane", "valley"]
    with refused(
        r"'chapter' shows the interactive figure 'plain'.* Known are plane, valley\. .* "
        r"book/assets/widgets/plain\.js"
    ):
        load_widgets(shows("plane", "plain"), known_widgets(tmp_path), "chapter")
