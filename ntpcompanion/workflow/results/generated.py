"""What a build writes beside the chapters: the parts of the pages on results, and their data."""

from collections.abc import Callable
from pathlib import Path

from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.schema import read_optional
from ntpcompanion.workflow.chapters.templating import render
from ntpcompanion.workflow.records.record import Record
from ntpcompanion.workflow.results.landing import (
    LANDING,
    Landing,
    LandingPage,
    landing_page,
    read_parts,
)
from ntpcompanion.workflow.results.ledger import Ledger, ledger_csv, ledger_json, ledger_row
from ntpcompanion.workflow.results.stated_results import (
    QUESTIONS,
    STATED,
    Listed,
    Question,
    answered,
    chapters_that_state,
    placed,
)
from ntpcompanion.workflow.results.status import Status, record_rows
from ntpcompanion.workflow.results.views import View


def write_generated(
    project: Project, source: Path, view: View, record: Callable[[str], Record]
) -> dict[str, str]:
    """Write them into `source`, the book folder that is rendered, and return the texts by file
    name; `record(name)` loads a record.

    Texts begin with an underscore: pages include them, and Sphinx reads them nowhere else. Raises
    WorkflowError with what is wrong with the files that they are made from.
    """
    rows = [ledger_row(one) for one in view.judged.values()]
    texts = {
        "_ledger.md": render("ledger.md", Ledger(**vars(view))),
        "_status.md": render("status.md", Status(**vars(view))),
        "_records.md": render("records.md", record_rows(project, record)),
        "_theorems.md": render("theorems.md", chapters_that_state(view.notebooks)),
        "_data/ledger.json": ledger_json(rows, view.results, view.profile),
        "_data/ledger.csv": ledger_csv(rows),
    }
    if (stated := read_optional(project.book / STATED, Listed)) is not None:
        texts["_statements.md"] = render("statements.md", placed(stated, view))
    if (questions := read_optional(project.book / QUESTIONS, list[Question])) is not None:
        texts["_open_questions.md"] = render("open_questions.md", answered(questions, view))
    if (landing := read_optional(project.book / LANDING, Landing)) is not None:
        parts = read_parts(project)
        texts |= landing_page(LandingPage(**vars(view), landing=landing, parts=parts))
    for name, text in texts.items():
        write_atomically(source / "chapters" / name, text)
    return texts
