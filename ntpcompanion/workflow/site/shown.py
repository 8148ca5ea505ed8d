"""Proof that a site shows what it should: its pages, the measured numbers, and no verdict that the
build has not written itself.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from html import unescape
from pathlib import Path

import nbformat

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME, RECORD_MIME
from ntpcompanion.workflow.claims.verdict import JudgedClaim
from ntpcompanion.workflow.notebooks.cells import tags
from ntpcompanion.workflow.notebooks.contents import CHAPTERS, toc_pages
from ntpcompanion.workflow.site.marks import Mark, marks_of, marks_of_text, page_faults

REMOVING = {"remove-cell", "remove-output"}  # tags of MyST-NB


def chapter_marks(page: nbformat.NotebookNode) -> Counter[Mark]:
    """The marks that the page of a notebook is to show: of its cards, strips and records, but in
    cells whose tags take their outputs from the page.
    """
    drawn = [
        output.data.get("text/html", "")
        for cell in page.cells
        if not REMOVING & tags(cell)
        for output in cell.get("outputs", [])
        if {MEASUREMENT_MIME, RECORD_MIME} & set(output.get("data", {}))
    ]
    return sum(map(marks_of, drawn), Counter())


def prose_marks(
    source: Path, pages: Iterable[str], texts: Mapping[str, str]
) -> dict[str, Counter[Mark]]:
    """The marks that each page of the book folder `source` may show: those of the generated `texts`
    that it includes.
    """
    known = {name: marks_of_text(text) for name, text in texts.items() if name.endswith(".md")}
    allowed = {}
    for page in pages:
        path = source / f"{page}.md"
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        included = [each for name, each in known.items() if f"chapters/{name}" in text]
        allowed[page] = sum(included, Counter[Mark]())
    return {page: each for page, each in allowed.items() if not page.startswith(CHAPTERS)}


def site_faults(
    project: Project,
    html: Path,
    judged: Mapping[str, JudgedClaim],
    expected: Mapping[str, Mapping[Mark, int]],
) -> list[str]:
    """Pages of the table of contents that are missing or cut short, measured numbers that their
    page does not show, and marks of verdicts that a page lacks or that are not the `expected` ones
    of it.
    """
    faults = [
        f"{page}.html is missing or cut short"
        for page in toc_pages(project)
        if "</html>" not in _raw(html / f"{page}.html")
    ]
    if not _raw(html / "index.html"):
        faults.append("index.html is missing or empty")
    names = {one.claim.notebook for one in judged.values()}
    texts = {page: _text(html / page) for page in [f"chapters/{name}.html" for name in names]}
    ledger = _text(html / "ledger.html")
    for one in judged.values():
        page = f"chapters/{one.claim.notebook}.html"
        faults += [
            f"{where} does not show {one.claim.id} = {one.number}"
            for where, text in ((page, texts[page]), ("ledger.html", ledger))
            if one.measurement and one.number not in text
        ]
    return faults + _mark_faults(html, expected)


def _mark_faults(html: Path, expected: Mapping[str, Mapping[Mark, int]]) -> list[str]:
    """The faults of the marks of all pages."""
    faults = []
    for path in sorted(html.rglob("*.html")):
        page = path.relative_to(html).with_suffix("").as_posix()
        of_page = page_faults(_raw(path), expected.get(page, {}), chapter=page.startswith(CHAPTERS))
        faults += [f"{page}.html {fault}" for fault in of_page]
    return faults


def _raw(page: Path) -> str:
    return page.read_text(encoding="utf-8") if page.is_file() else ""


def _text(page: Path) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", _raw(page))))
