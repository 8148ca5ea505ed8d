"""From executed notebooks to the site: pages with present cards, ledger, status, Jupyter Book,
assertions.
"""

import functools
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import nbformat

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking.value_comparison import check_measured
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.notebooks.contents import CHAPTERS, page_faults
from ntpcompanion.workflow.pages.chapter_pages import make_chapter
from ntpcompanion.workflow.pages.figures import known_widgets
from ntpcompanion.workflow.pages.generated import write_generated
from ntpcompanion.workflow.pages.views import View, read_papers
from ntpcompanion.workflow.records.record import load_record
from ntpcompanion.workflow.running.runs import Run, current_results
from ntpcompanion.workflow.site.marks import Mark, chapter_marks, site_faults
from ntpcompanion.workflow.site.render import publish, render


class Prepared(NamedTuple):
    """The folder that Jupyter Book is to build, by chapter the marks of verdicts that were written
    for it, and by name the texts that other pages include.
    """

    source: Path
    marks: dict[str, Counter[Mark]]
    texts: dict[str, str]


def prepare_pages(project: Project, runs: list[Run], profile: str) -> Prepared:
    """Write every generated page of the book at a profile.

    The book profile is prepared in place. Any other is prepared in a copy: its output cannot reach
    the book's folder.
    """
    claims = load_claims(project)
    notebooks = {run.notebook.name: run.notebook for run in runs}
    results = current_results(runs)
    faults = [
        finding.text
        for name, result in results.items()
        for finding in check_measured(name, profile, result.measured, claims)
    ]
    faults += page_faults(project, notebooks)
    if faults:
        raise WorkflowError("\n".join(faults))
    source = project.book if profile == "book" else _staged_copy(project, profile)
    measurements = [item for result in results.values() for item in result.measurements]
    judged = judged_claims(claims, measurements, profile)
    # many cards show one record, which takes a while to check
    record = functools.cache(lambda name: load_record(project, name))
    widgets, pages = known_widgets(project.book), {}
    for run in runs:
        name = run.notebook.name
        pages[name] = make_chapter(run, results[name], judged, record, widgets)
        write_atomically(source / "chapters" / f"{name}.ipynb", nbformat.writes(pages[name]))
    papers = read_papers(project)
    view = View(
        profile=profile, judged=judged, results=results, notebooks=notebooks, papers=papers,
        pages=pages,
    )  # fmt: skip
    texts = write_generated(project, source, view, record)
    marks = {f"{CHAPTERS}{name}": chapter_marks(page) for name, page in pages.items()}
    return Prepared(source, marks, texts)


def build_site(
    project: Project, runs: list[Run], profile: str, check: Callable[[], list[str]] = list
) -> Path:
    """Render the site of a profile from its stored results; its folder. `check` says, before the
    site is published, which sources have changed.
    """
    source, marks, texts = prepare_pages(project, runs, profile)
    html = project.html(profile)
    made = render(project, source, html)
    if faults := site_faults(project, made, marks, texts) or check():
        raise WorkflowError(
            "The site was built, but:\n" + "\n".join(faults) + "\nThe old site, if any, stays."
        )
    publish(made, html)
    return html


def _staged_copy(project: Project, profile: str) -> Path:
    target = project.staged(profile)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(project.book, target, ignore=shutil.ignore_patterns("chapters"))
    return target
