import json

import nbformat

from ntpcompanion.workflow.chapters.chapter_files import make_chapter
from ntpcompanion.workflow.chapters.citation import read_book
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.running.results import Result


def test_a_chapter_is_written_with_the_files_that_its_page_offers(instant, tmp_path):
    instant.execute()
    (run,) = instant.runs("book", ["coin"])
    result = Result.load(run.results)
    book = read_book(instant.project)
    judged = judged_claims(load_claims(instant.project), result.measurements, "book")
    chapter = make_chapter(run, result, judged, {}.__getitem__, book, (), "0123456789")
    chapter.write(tmp_path)
    written = nbformat.read(tmp_path / "coin.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in written.cells)
    assert "0123456" in text, "the commit of its source"
    for name in chapter.files:
        assert f"_files/{name}" in text
        assert (tmp_path / "_files" / name).read_text(encoding="utf-8") == chapter.files[name]
    told = json.loads(chapter.files["coin.json"])
    assert told["parameters"] == result.parameters
