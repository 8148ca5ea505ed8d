"""A stored run as a chapter: its page, and the files that it offers."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat

from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.chapters.citation import Book
from ntpcompanion.workflow.chapters.downloads import FOLDER, downloads
from ntpcompanion.workflow.chapters.ending import Source
from ntpcompanion.workflow.chapters.pages import make_page
from ntpcompanion.workflow.claims.verdict import JudgedClaim
from ntpcompanion.workflow.records.record import Record
from ntpcompanion.workflow.running.results import Result
from ntpcompanion.workflow.running.runs import Run, load_executed


@dataclass(frozen=True, eq=False)
class Chapter:
    """The page of a notebook, and the content of the files that it offers, by name."""

    name: str
    page: nbformat.NotebookNode
    files: Mapping[str, str]

    def write(self, chapters: Path) -> None:
        """Write page and files into a folder of chapters. Raises WorkflowError if that fails."""
        for file, content in self.files.items():
            write_atomically(chapters / FOLDER / file, content)
        write_atomically(chapters / f"{self.name}.ipynb", nbformat.writes(self.page))


def make_chapter(
    run: Run,
    result: Result,
    judged: Mapping[str, JudgedClaim],
    record: Callable[[str], Record],
    book: Book,
    widgets: Collection[str],
    commit: str | None = None,
) -> Chapter:
    """The chapter that shows the stored outcome of a run; `commit` is that of its source, None
    where it is not told.

    Raises WorkflowError with the faults of claims or page.
    """
    notebook, executed = run.notebook, load_executed(run.page)
    source = Source(notebook.path.relative_to(run.project.root).as_posix(), commit)
    page = make_page(notebook, executed, result, judged, record, book, source, widgets)
    return Chapter(notebook.name, page, downloads(notebook, executed, result))
