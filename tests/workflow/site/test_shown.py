from collections import Counter

import nbformat

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME, RECORD_MIME
from ntpcompanion.workflow.site import shown
from ntpcompanion.workflow.site.marks import marks_of
from ntpcompanion.workflow.site.shown import chapter_marks, prose_marks

CARD = '<details class="ntp-card" id="claim-a">supported</details>'
ROW = '<li class="ntp-row" id="row-a">supported</li>'


def test_the_marks_of_a_chapter_are_those_of_what_was_measured_and_recorded():
    cell = nbformat.v4.new_code_cell()
    for mime, html in {MEASUREMENT_MIME: CARD, RECORD_MIME: ROW, "text/plain": CARD}.items():
        data = {mime: "", "text/html": html}
        cell.outputs.append(nbformat.v4.new_output("display_data", data))
    text = nbformat.v4.new_markdown_cell(CARD)
    page = nbformat.v4.new_notebook(cells=[text, cell])
    assert chapter_marks(page) == marks_of(CARD + ROW)


def test_a_page_may_show_what_it_includes(tmp_path):
    (tmp_path / "ledger.md").write_text("```{include} chapters/_ledger.md\n```\n")
    (tmp_path / "intro.md").write_text("# Intro\n")
    texts = {"_ledger.md": f"````{{raw}} html\n{ROW}\n````\n", "_data/ledger.csv": "a\n"}
    pages = ["intro", "ledger", "chapters/coin"]
    assert prose_marks(tmp_path, pages, texts) == {"intro": Counter(), "ledger": marks_of(ROW)}


def test_every_page_is_read(tmp_path):
    (tmp_path / "a.html").write_text(CARD)
    (tmp_path / "b.html").write_text("<p>text</p>")
    assert shown._mark_faults(tmp_path, {"a": marks_of(CARD)}) == []
    (fault,) = shown._mark_faults(tmp_path, {})
    assert fault.startswith("a.html shows a card #claim-a that no stored run")
