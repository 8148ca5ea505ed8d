"""What a build writes beside the chapters: the parts of the pages on results, and their data."""

from collections.abc import Callable, Mapping
from pathlib import Path

import nbformat

from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.chapters.citation import read_book
from ntpcompanion.workflow.claims.claims import Claim
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.records.record import Record
from ntpcompanion.workflow.results import exports
from ntpcompanion.workflow.results.landing import Stored, landing_page, read_landing, read_parts
from ntpcompanion.workflow.results.ledger import ledger_page
from ntpcompanion.workflow.results.paper_statements import places_page, read_stated
from ntpcompanion.workflow.results.references import read_papers
from ntpcompanion.workflow.results.rows import ledger_rows
from ntpcompanion.workflow.results.status import records_table, status_page
from ntpcompanion.workflow.results.theorems import theorems_page
from ntpcompanion.workflow.running.results import Result


def write_generated(
    project: Project,
    source: Path,
    claims: Mapping[str, Claim],
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
    rows = ledger_rows(claims, results, profile)
    papers = read_papers(project)
    texts = {
        "_ledger.md": ledger_page(claims, results, titles, papers, profile),
        "_status.md": status_page(results, notebooks, profile),
        "_records.md": records_table(project, record),
        "_theorems.md": theorems_page(notebooks),
        "_data/ledger.json": exports.ledger_json(rows, results, profile),
        f"_data/{exports.SCHEMA_NAME}": exports.ledger_schema(),
        "_data/ledger.csv": exports.ledger_csv(rows),
    }
    if (stated := read_stated(project)) is not None:
        texts["_statements.md"] = places_page(stated, rows, notebooks, papers)
    if (landing := read_landing(project)) is not None:
        stored = Stored(read_book(project), claims, results, pages, titles)
        texts |= landing_page(landing, read_parts(project), stored, profile)
    for name, text in texts.items():
        write_atomically(source / "chapters" / name, text)
    return texts
