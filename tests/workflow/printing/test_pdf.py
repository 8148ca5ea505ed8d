"""The PDF that is joined of printed pages."""

import os

import pypdf
import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.printing import pdf
from tests.browsing import BROWSER
from tests.refusing import refused

PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title></head><body>
<article><section id="top"><h1>{title}</h1>{body}</section></article></body></html>"""
PAGES = {
    "intro": (
        "A book",
        '<p><a href="chapters/one.html#claim">a claim</a> <a href="_downloads/a.csv">data</a>'
        '<a href="chapters/two.html">a chapter</a></p>',
    ),
    "chapters/one": (
        "Chapter one",
        '<p style="break-after: page">First.</p><h2 id="claim">A claim</h2>'
        '<p><a href="#claim">down</a> <a href="../intro.html">start</a>'
        '<a href="https://example.org/">out</a> <a href="one.ipynb">notebook</a></p>',
    ),
    "chapters/two": ("Chapter two", "<p>The last page.</p>"),
}


@pytest.fixture
def project(tmp_path):
    project = Project(tmp_path)
    for page, (title, body) in PAGES.items():
        path = project.html("book") / f"{page}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGE.format(title=title, body=body), encoding="utf-8")
    project.book.mkdir()
    (project.book / "_toc.yml").write_text(
        "format: jb-book\nroot: intro\nparts:\n  - caption: First part\n"
        "    chapters:\n      - file: chapters/one\n      - file: chapters/two\n"
    )
    return project


def _titles(entries):
    return [_titles(each) if isinstance(each, list) else each.title for each in entries]


def _leads(book, page):
    """For each link of a page: the number of the page it leads to, or the address."""
    numbers = {each.indirect_reference.idnum: count for count, each in enumerate(book.pages)}
    notes = [note.get_object() for note in book.pages[page]["/Annots"]]
    return [
        numbers[note.raw_get("/Dest")[0].idnum] if "/Dest" in note else note["/A"]["/URI"]
        for note in notes
    ]


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_pdf_has_an_outline_and_inner_links(project, tmp_path):
    target, heard = tmp_path / "out" / "book.pdf", []
    assert pdf.print_book(project, target, notify=heard.append) == 4
    assert sorted(heard) == ["printed intro", "printed one", "printed two"]
    book = pypdf.PdfReader(target)
    assert "The last page." in book.pages[3].extract_text()
    assert _titles(book.outline) == ["A book", "Chapter one", ["A claim"], "Chapter two"]
    assert book.metadata.title == "A book"
    # files of this machine are not links
    assert _leads(book, 0) == [2, 3]
    assert _leads(book, 2) == [2, 0, "https://example.org/"]


def test_without_a_page_or_a_browser_a_sentence_says_what_to_do(project, monkeypatch):
    (project.html("book") / "chapters" / "one.html").unlink()
    with refused(r"There is no .*one\.html\. Run `make book` first"):
        pdf.print_book(project, project.build / "book.pdf", "no-browser")
    monkeypatch.setattr(pdf, "find_browser", lambda: None)
    with refused("`make browser` gets one"):
        pdf.print_book(project, project.build / "book.pdf")


@pytest.mark.skipif(os.name == "nt", reason="what is faked is a shell script")
@pytest.mark.parametrize(
    ("script", "words"),
    [("exit 3", r"did not print intro \(code 3\)"), ("sleep 60", "no answer within")],
)
def test_a_browser_that_fails_leaves_the_old_pdf(project, tmp_path, monkeypatch, script, words):
    browser, target = tmp_path / "browser", tmp_path / "book.pdf"
    browser.touch(mode=0o755)
    browser.write_text(f"#!/bin/sh\n{script}\n")
    target.write_text("old")
    monkeypatch.setattr(pdf, "LIMIT", 0.5 if "sleep" in script else 60)
    with refused(words):
        pdf.print_book(project, target, str(browser))
    assert target.read_text() == "old"
