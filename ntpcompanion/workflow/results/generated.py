"""What a build writes beside the chapters: the parts of the pages on results, and their data."""

from collections.abc import Callable, Mapping
from pathlib import Path

import nbformat

from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.chapters.templating import render
from ntpcompanion.workflow.claims.verdict import JudgedClaim
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.records.record import Record
from ntpcompanion.workflow.results import exports
from ntpcompanion.workflow.results.landing import (
    LandingPage,
    landing_page,
    read_landing,
    read_parts,
)
from ntpcompanion.workflow.results.ledger import Ledger
from ntpcompanion.workflow.results.open_questions import answered, read_questions
from ntpcompanion.workflow.results.paper_statements import placed, read_stated
from ntpcompanion.workflow.results.references import read_papers
from ntpcompanion.workflow.results.status import Status, record_rows
from ntpcompanion.workflow.results.theorems import chapters_that_state
from ntpcompanion.workflow.running.results import Result


def write_generated(
    project: Project,
    source: Path,
    judged: Mapping[str, JudgedClaim],
    results: Mapping[str, Result],
    notebooks: Mapping[str, Notebook],
    profile: str,
    record: Callable[[str], Record],
    pages: Mapping[str, nbformat.NotebookNode],
) -> dict[str, str]:
    """Write them into `source`, the book folder that is rendered, and return the texts by file
    name; `record(name)` loads a record, `pages` are the chapters as they are shown.

    Texts begin with an underscore: pages include them, and Sphinx reads them nowhere else. Raises
    WorkflowError with what is wrong with the files that they are made from.
    """
    titles = {name: notebook.title for name, notebook in notebooks.items()}
    rows = [exports.ledger_row(one) for one in judged.values()]
    papers = read_papers(project)
    texts = {
        "_ledger.md": render("ledger.md", Ledger(judged, results, titles, papers, profile)),
        "_status.md": render("status.md", Status(results, notebooks, profile)),
        "_records.md": render("records.md", record_rows(project, record)),
        "_theorems.md": render("theorems.md", chapters_that_state(notebooks)),
        "_data/ledger.json": exports.ledger_json(rows, results, profile),
        "_data/ledger.csv": exports.ledger_csv(rows),
    }
    if (stated := read_stated(project)) is not None:
        texts["_statements.md"] = render("statements.md", placed(stated, judged, notebooks, papers))
    if (questions := read_questions(project)) is not None:
        texts["_open_questions.md"] = render(
            "open_questions.md", answered(questions, judged, notebooks)
        )
    if (landing := read_landing(project)) is not None:
        parts = read_parts(project)
        texts |= landing_page(LandingPage(landing, parts, judged, results, pages, titles, profile))
    for name, text in texts.items():
        write_atomically(source / "chapters" / name, text)
    return texts
