"""The pages as they are printed, and the PDF that is joined of them."""

import os
import re

import pypdf
import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.printing import pdf
from tests.browsing import BROWSER

PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8"><title>{title}</title>
<link rel="stylesheet" href="{up}_static/look.css"><script src="{up}_static/other.js"></script>
<script>window.MathJax = {{}}</script></head><body><nav>menu</nav>
<article class="bd-article"><section id="top"><h1>{title}<a class="headerlink" href="#top">#</a>
</h1>{body}</section></article></body></html>"""
PAGES = {
    "intro": (
        "A book",
        "",
        '<p><a href="chapters/one.html#claim">a claim</a> <a href="_downloads/a.csv">data</a>'
        '<a href="chapters/two.html#folded">a folded place</a></p>',
    ),
    "chapters/one": (
        "Chapter one",
        "../",
        '<section id="claim"><h2>A claim on <span class="math">\\(F\\)</span>'
        '<a class="headerlink" href="#claim">#</a></h2>'
        '<p><a href="#top">up</a> <a href="../intro.html">start</a>'
        '<a href="https://example.org/">out</a> <a href="one.ipynb">notebook</a></p>'
        '<img src="../_images/a.svg" alt="a"><svg><g clip-path="url(#claim)"/>'
        '<use href="#claim"/></svg>'
        '<details class="sd-dropdown"><summary>Proof</summary>Because.</details>'
        '<details class="ntp-card"><summary>A card</summary>Folded.</details>'
        '<details class="ntp-code"><summary>Code</summary>print()</details></section>',
    ),
    "chapters/two": (
        "Chapter two",
        "../",
        '<details class="ntp-card"><summary>A card</summary><p id="folded">Hidden.</p></details>'
        '<p style="break-before: page">The last page.</p>',
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
        "format: jb-book\nroot: intro\nparts:\n  - caption: First part\n"
        "    chapters:\n      - file: chapters/one\n      - file: chapters/two\n"
    )
    return project


@pytest.fixture
def texts(project, tmp_path):
    folder = tmp_path / "printable"
    folder.mkdir()
    paths = pdf.prepare(project.html("book"), list(PAGES), folder)
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def test_only_the_article_is_printed_and_other_pages_may_ask_for_its_places(texts):
    assert not any("menu" in text for text in texts.values())
    assert '<nav hidden><a href="#claim"></a><a href="#top"></a></nav>' in texts["one"]
    assert '<nav hidden><a href="#folded"></a><a href="#top"></a></nav>' in texts["two"]


def test_styles_and_mathematics_are_taken_over_and_other_scripts_are_not(texts):
    head = texts["one"].partition("</head>")[0]
    assert 'href="../_static/look.css"' in head
    assert "window.MathJax" in head
    assert "other.js" not in head


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


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_the_pdf_has_outline_page_numbers_and_inner_links(project, tmp_path):
    target, heard = tmp_path / "out" / "book.pdf", []
    assert pdf.print_book(project, target, notify=heard.append) == 4
    assert heard == ["1 of 3 printed: intro", "2 of 3 printed: one", "3 of 3 printed: two"]
    book = pypdf.PdfReader(target)
    texts = [page.extract_text() for page in book.pages]
    assert [text.strip().splitlines()[-1].strip() for text in texts] == ["1", "2", "3", "4"]
    assert "a claim" in texts[0]
    assert "Because." in texts[1]
    assert "The last page." in texts[3]
    assert not re.search(r"Folded\.|Hidden\.|print\(\)|#", "".join(texts))
    titles = _titles(book.outline)
    assert titles == ["A book", "Chapter one", ["A claim on \\(F\\)"], "Chapter two"]
    assert book.metadata.title == "A book"
    # what was not printed, and files of this machine, are not links
    assert _leads(book, 0) == [1]
    assert _leads(book, 1) == [1, 0, "https://example.org/"]


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
    [
        ("exit 3", r"did not print intro \(code 3\)"),
        ("exit 0", "did not print"),
        ("sleep 60", "no answer within"),
    ],
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


def test_a_page_without_an_article_is_named(project, tmp_path):
    (project.html("book") / "intro.html").write_text("<html><head></head></html>")
    with pytest.raises(WorkflowError, match=r"intro\.html holds no article\. Run `make book`"):
        pdf.prepare(project.html("book"), ["intro"], tmp_path)
