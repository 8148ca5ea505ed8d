"""A run as a page of its own, rendered as the book renders its chapters, beside the book's numbers.

It lies in `_build/views`, and nothing of it can reach the book.
"""

import functools
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import files_below, write_atomically
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.yaml_files import read_yaml
from ntpcompanion.workflow.chapters import outside_links
from ntpcompanion.workflow.chapters.chapter_files import Chapter, make_chapter
from ntpcompanion.workflow.chapters.citation import read_book
from ntpcompanion.workflow.chapters.templating import render
from ntpcompanion.workflow.chapters.widgets import known_widgets
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.notebooks.titles import insert_below_title
from ntpcompanion.workflow.records.record import load_record
from ntpcompanion.workflow.running.results import Result
from ntpcompanion.workflow.running.runs import Run, stale_reasons
from ntpcompanion.workflow.site.beside import Beside
from ntpcompanion.workflow.site.build_site import render_changed
from ntpcompanion.workflow.site.marks import Mark, marks_of_text, page_faults
from ntpcompanion.workflow.site.render import doctrees
from ntpcompanion.workflow.site.shown import chapter_marks

# what a chapter needs of the folder of the book, beside itself
SHARED = ("assets", "references.bib", "references.md", "notation.md")
_LINK = re.compile(r'(?<=<a )([^>]*?)\s*href="([^":#?]+\.html)(#[^"]*)?"')


def view_folder(run: Run) -> Path:
    """Where the view of a run lies: its own folder for each variant of the parameters."""
    return run.project.build / "views" / f"{run.stem.name}-{run.profile}"


def make_view(run: Run, book_run: Run) -> tuple[Path, bool]:
    """Render the stored outcome of a run; the page, and whether it had to be rendered.

    Parameters
    ----------
    run
        up to date.
    book_run
        the run of the same notebook that the book shows; it may be stale, or not have been made.

    Raises
    ------
    WorkflowError
        the faults of claims or page, or what Jupyter Book complains of.
    """
    project, name, folder = run.project, run.notebook.name, view_folder(run)
    alone = replace(project, root=folder)
    _write_sources(project, alone, name)
    result = Result.load(run.results)
    chapter, above = _chapter(run, result, book_run)
    chapter.write(alone.book / "chapters")
    html, expected = folder / "html", chapter_marks(chapter.page) + marks_of_text(above)
    _, made = render_changed(
        alone, alone.book, html, lambda built: _finish(project, built, name, expected)
    )
    return html / "chapters" / f"{name}.html", made


def _chapter(run: Run, result: Result, book_run: Run) -> tuple[Chapter, str]:
    """The chapter, with what it says of itself above all else, and that."""
    project = run.project
    claims, widgets = load_claims(project), known_widgets(project.book)
    record = functools.cache(lambda name: load_record(project, name))
    judged = judged_claims(claims, result.measurements, result.profile)
    made = make_chapter(run, result, judged, record, read_book(project), widgets)
    above = render("beside.md", Beside(result, *_of_the_book(book_run), claims))
    insert_below_title(made.page, above, made.name)
    return made, above


def _of_the_book(run: Run) -> tuple[Result | None, list[str]]:
    """The book's result, None if there is none, and what a reader should know of it."""
    name = run.notebook.name
    again = f"`ntpcompanion execute {name}` makes it."
    try:
        result = Result.load(run.results)
    except WorkflowError:
        return None, [f"There is no run of the book to compare with; {again}"]
    if stale_reasons(run):
        return result, [f"The book's run is older than the present sources; {again}"]
    return result, []


def _write_sources(project: Project, alone: Project, name: str) -> None:
    """The configuration and the files of the book that a view is rendered with."""
    write_atomically(alone.root / "_config.yml", yaml.safe_dump(_configuration(project)))
    toc: dict[str, Any] = {"format": "jb-book", "root": f"chapters/{name}"}
    if (project.book / "references.md").is_file():
        toc |= {"chapters": [{"file": "references"}]}
    write_atomically(alone.book / "_toc.yml", yaml.safe_dump(toc))
    labels = doctrees(project.html("book")) / outside_links.LABELS
    known = labels.read_text(encoding="utf-8") if labels.is_file() else "{}"
    write_atomically(alone.book / outside_links.LABELS, known)
    for path in [project.book / shared for shared in SHARED]:
        for file in files_below(path) if path.is_dir() else [path] if path.is_file() else []:
            target = alone.book / file.relative_to(project.book)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)


def _configuration(project: Project) -> dict[str, Any]:
    """That of the book, with references to the book for what the page does not hold."""
    path = project.root / "_config.yml"
    entries: dict[str, Any] = json.loads(json.dumps(read_yaml(path)))
    settings = entries.setdefault("sphinx", {}).setdefault("config", {})
    settings.setdefault("extensions", []).append(outside_links.__name__)
    return entries


def _finish(project: Project, html: Path, name: str, expected: Mapping[Mark, int]) -> list[str]:
    """Lead links to pages that a view does not have to the book; the faults of the page."""
    page = html / "chapters" / f"{name}.html"
    if not page.is_file() or "</html>" not in (text := page.read_text(encoding="utf-8")):
        return [f"{page} is missing or cut short"]

    def led(match: re.Match[str]) -> str:
        before, target, anchor = match[1], match[2], match[3] or ""
        inside = (page.parent / target).resolve()
        if target.startswith(outside_links.BOOK) or inside.is_file():
            return match[0]
        relative = inside.relative_to(html.resolve()) if inside.is_relative_to(html) else None
        if relative is None or not (project.html("book") / relative).is_file():
            return before  # a link that leads nowhere is text
        return f'{before} href="{outside_links.BOOK}{relative.as_posix()}{anchor}"'

    write_atomically(page, _LINK.sub(led, text))
    return [f"{page} {fault}" for fault in page_faults(text, expected, chapter=False)]
