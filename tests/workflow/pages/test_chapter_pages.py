"""The page of a stored run, without a kernel: the executed notebook is made by hand."""

from dataclasses import replace

import nbformat
import pytest

from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME, RECORD_MIME
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.notebooks.cells import code_cells
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.pages.cards import Ending
from ntpcompanion.workflow.pages.chapter_pages import make_page
from ntpcompanion.workflow.records.record import Record
from tests.refusing import refused
from tests.workflow.pages.views import run_that

MEASURED = Measurement.of("toy.half", 0.5, seed=3)
HALF = MEASURED.to_json()
KERNEL = {
    "kernelspec": {"name": "python3", "display_name": "Python 3"},
    "language_info": {"name": "python", "version": "3.11.7"},
}
MADE = replace(run_that("A chip"), parameters={"n": 1000, "seed": 0})
RECORD = Record("halves", [], {}, "Halves.", "yesterday", [])


@pytest.fixture
def coin(toy):
    return find_notebooks(toy.project)["coin"]


def executed(coin, outputs=()):
    defaults, code = [
        nbformat.v4.new_code_cell(cell.source, execution_count=n)
        for n, cell in enumerate(code_cells(coin.node), 1)
    ]
    defaults.metadata.tags = ["parameters"]
    injected = nbformat.v4.new_code_cell(
        "n = 1000", metadata={"tags": ["injected-parameters"]}, execution_count=2
    )
    code.outputs = [nbformat.v4.new_output("display_data", data) for data in outputs]
    return nbformat.v4.new_notebook(cells=[defaults, injected, code], metadata=KERNEL)


def judged(toy):
    return judged_claims(load_claims(toy.project), [MEASURED], "book")


def page(toy, coin, outputs=(), profile="book"):
    made = replace(MADE, profile=profile)
    ran, record = executed(coin, outputs), lambda name: replace(RECORD, name=name)
    return make_page(Ending(coin, made), ran, judged(toy), record)


def test_the_order_of_a_page(toy, coin):
    coin.node.metadata["ntp"] = {"records": []}
    made = page(toy, coin)
    title, defaults, injected, code, end = made.cells
    assert title.source.splitlines() == [
        "(coin)=",
        "# A coin",
        "",
        '<p class="ntp-run">Executed 2026-01-01, profile <em>book</em>, '
        '<span title="A chip, 2 cores, Python 3.11.7">2.4 seconds</span></p>',
        "",
        "",
        "Prose with $p = 1/2$.",
    ]
    assert defaults.metadata["tags"] == ["parameters", "remove-cell"]
    assert injected.metadata["tags"] == ["injected-parameters", "remove-cell"]
    assert (injected.source, code.execution_count) == ("n = 1000", 2)
    assert end.source.startswith("## Run this yourself")
    assert [cell["id"] for cell in made.cells] == [f"cell-{index:03d}" for index in range(5)]
    assert made.metadata == KERNEL
    assert "remove-cell" not in str(coin.node), "the text notebook is left alone"


def test_cards_and_banners_are_drawn_and_the_rest_is_kept(toy, coin):
    plain = {"text/plain": "1", "text/html": "<b>1</b>"}
    unknown = {MEASUREMENT_MIME: {**HALF, "id": "toy.gone"}, "text/html": "as it was"}
    outputs = [
        plain,
        {MEASUREMENT_MIME: HALF, "text/html": "old"},
        unknown,
        {RECORD_MIME: {"name": "thirds"}, "text/html": "old"},
    ]
    shown = [output["data"]["text/html"] for output in page(toy, coin, outputs).cells[3].outputs]
    assert shown[0] == "<b>1</b>"
    assert "ntp-supported" in shown[1]
    assert "<dt>Random</dt><dd>exact for what seed 3 drew</dd>" in shown[1]
    assert shown[2] == "as it was"
    assert (
        "<strong>Recorded run</strong> <code>thirds</code> Halves.</summary>Made yesterday; "
        "matches the present code." in shown[3]
    )


def test_the_page_of_a_page_is_that_page(toy, coin):
    outputs = [{MEASUREMENT_MIME: HALF, "text/html": "old"}] * 6
    outputs.insert(0, {"text/plain": "1"})
    once = page(toy, coin, outputs)
    twice = make_page(Ending(coin, MADE), once, judged(toy), lambda name: RECORD)
    assert nbformat.writes(twice) == nbformat.writes(once)
    assert "3 more claims: 3 supported" in nbformat.writes(once)


def test_how_a_page_was_made_stands_below_its_title_wherever_that_is(toy, coin):
    title = coin.node.cells[0]
    title.source = "# A coin\nProse."
    coin.node.cells[0:0] = [
        nbformat.v4.new_markdown_cell("A note before the title."),
        nbformat.v4.new_raw_cell("# no title"),
    ]
    note, raw, title = page(toy, coin).cells[:3]
    assert (note.source, raw.source) == ("A note before the title.", "# no title")
    lines = title.source.splitlines()
    assert (lines[:2], lines[3:]) == (["# A coin", ""], ["", "Prose."])
    assert lines[2].startswith('<p class="ntp-run">Executed 2026-01-01')


def test_text_and_run_must_have_the_same_cells(toy, coin):
    short = executed(coin)
    short.cells.pop()
    with refused(r"coin: 1 executed cells for 2 in the text. Run the notebook again"):
        make_page(Ending(coin, MADE), short, {}, lambda name: RECORD)
