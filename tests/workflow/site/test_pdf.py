"""The document that is printed, and a PDF of it, read by another program."""

import os
import re

import pypdf
import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.site import pdf
from tests.browsing import needs_browser

PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title>
<link rel="stylesheet" href="{up}_static/look.css"><script src="{up}_static/other.js"></script>
<script>window.MathJax = {{}}</script></head><body><nav>menu</nav>
<article class="bd-article"><section id="top"><h1>{title}</h1>{body}</section></article>
</body></html>"""
PAGES = {
    "intro": ("A book", "", '<p><a href="chapters/one.html#claim">a claim</a></p>'),
    "chapters/one": (
        "Chapter one",
        "../",
        '<h2 id="claim">A claim</h2><p><a href="#top">up</a> <a href="../intro.html">start</a>'
        '<a href="https://example.org/">out</a> <a href="one.ipynb">notebook</a></p>'
        '<img src="../_images/a.svg" alt="a"><svg><g clip-path="url(#claim)"/></svg>'
        '<details class="sd-dropdown"><summary>Proof</summary>Because.</details>'
        '<details class="ntp-card"><summary>A card</summary>Folded.</details>',
    ),
}


@pytest.fixture
def project(tmp_path):
    project = Project(tmp_path)
    html = project.html("book")
    for page, (title, up, body) in PAGES.items():
        path = html / f"{page}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGE.format(title=title, up=up, body=body), encoding="utf-8")
    (html / "index.html").write_text("refers")
    project.book.mkdir()
    (project.book / "_toc.yml").write_text(
        "format: jb-book\nroot: intro\nchapters:\n  - file: chapters/one\n"
    )
    return project


def test_names_and_links_lead_within_the_document(project):
    text = pdf.one_document(project.html("book"), list(PAGES))
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert ids == [
        "intro",
        "intro--top",
        "chapters-one",
        "chapters-one--top",
        "chapters-one--claim",
    ]
    assert re.findall(r'<a href="([^"]+)"', text) == [
        "#chapters-one--claim",
        "#chapters-one--top",
        "#intro",
        "https://example.org/",
        "chapters/one.ipynb",
    ]
    assert 'src="_images/a.svg"' in text
    assert "url(#chapters-one--claim)" in text


def test_styles_and_mathematics_are_taken_over_and_other_scripts_are_not(project):
    head = pdf.one_document(project.html("book"), list(PAGES)).partition("</head>")[0]
    assert 'href="_static/look.css"' in head
    assert "window.MathJax" in head
    assert "other.js" not in head
    assert "menu" not in head


def test_proofs_are_opened_and_cards_stay_folded(project):
    text = pdf.one_document(project.html("book"), list(PAGES))
    assert '<details open class="sd-dropdown">' in text
    assert '<details class="ntp-card">' in text


@needs_browser
def test_the_pdf_has_outline_page_numbers_and_inner_links(project, tmp_path):
    printed = pdf.print_book(project, tmp_path / "out" / "book.pdf")
    book = pypdf.PdfReader(printed)
    first, second = (page.extract_text() for page in book.pages)
    assert "a claim" in first
    assert first.strip().splitlines()[0] == "1" or first.strip().splitlines()[-1] == "1"
    assert "Because." in second
    assert "Folded." not in second
    flat = [entry for entry in book.outline if not isinstance(entry, list)]
    assert [entry.title for entry in flat] == ["A book", "Chapter one"]
    (link,) = [note.get_object() for note in book.pages[0]["/Annots"]]
    assert link["/Subtype"] == "/Link"
    assert "/URI" not in link.get("/A", {})


def test_without_a_book_or_a_page_or_a_browser_a_sentence_says_what_to_do(project, monkeypatch):
    (project.html("book") / "chapters" / "one.html").unlink()
    with pytest.raises(WorkflowError, match=r"one\.html is missing\. Run `make book` again"):
        pdf.print_book(project, project.build / "book.pdf", "no-browser")
    (project.html("book") / "index.html").unlink()
    with pytest.raises(WorkflowError, match=r"There is no book in .* Run `make book` first"):
        pdf.print_book(project, project.build / "book.pdf", "no-browser")
    monkeypatch.setattr(pdf, "find_browser", lambda: None)
    with pytest.raises(WorkflowError, match="`make browser` gets one"):
        pdf.print_book(project, project.build / "book.pdf")


@pytest.mark.skipif(os.name == "nt", reason="what is faked is a shell script")
@pytest.mark.parametrize(
    ("script", "words"),
    [("exit 3", "code 3"), ("exit 0", "did not print the book"), ("sleep 60", "no answer within")],
)
def test_a_browser_that_fails_leaves_the_old_pdf(project, tmp_path, monkeypatch, script, words):
    browser, target = tmp_path / "browser", tmp_path / "book.pdf"
    browser.touch(mode=0o755)
    browser.write_text(f"#!/bin/sh\n{script}\n")
    target.write_text("old")
    monkeypatch.setattr(pdf, "LIMIT", 0.5 if "sleep" in script else 60)
    with pytest.raises(WorkflowError, match=words):
        pdf.print_book(project, target, str(browser))
    assert target.read_text() == "old"
    assert not list(tmp_path.glob(".book.pdf*"))
