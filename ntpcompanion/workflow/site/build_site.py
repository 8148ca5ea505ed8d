"""From executed notebooks to the site: pages with present cards, ledger, status, Jupyter Book,
assertions.
"""

import functools
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import (
    canonical_json,
    digest_of,
    files_below,
    sha256,
    write_atomically,
)
from ntpcompanion.workflow.base.installed import installed_packages
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.chapters.chapter_files import make_chapter
from ntpcompanion.workflow.chapters.citation import read_book
from ntpcompanion.workflow.chapters.widgets import known_widgets
from ntpcompanion.workflow.checking.value_comparison import check_measured
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.verdict import JudgedClaim, judged_claims
from ntpcompanion.workflow.notebooks.contents import CHAPTERS, page_faults, toc_pages
from ntpcompanion.workflow.records.record import load_record
from ntpcompanion.workflow.results.generated import write_generated
from ntpcompanion.workflow.running.results import Result
from ntpcompanion.workflow.running.runs import Run, stale_reasons
from ntpcompanion.workflow.site.commits import commit_of
from ntpcompanion.workflow.site.look import ASSETS
from ntpcompanion.workflow.site.marks import Mark
from ntpcompanion.workflow.site.render import doctrees, publish, render
from ntpcompanion.workflow.site.shown import chapter_marks, prose_marks, site_faults
from ntpcompanion.workflow.site.sphinx_extension import outdated_pages


def current_results(runs: list[Run]) -> dict[str, Result]:
    """The stored results of runs by notebook. Raises WorkflowError naming each run that is stale,
    and why.
    """
    faults = []
    for run in runs:
        reasons = stale_reasons(run)
        if reasons:
            faults.append(f"{run.notebook.name} ({run.profile}): {'; '.join(reasons)}")
    if faults:
        profile = "" if runs[0].profile == "book" else f" --profile {runs[0].profile}"
        raise WorkflowError(
            "Stored results do not answer for the present sources. Run `ntpcompanion "
            f"execute{profile}` first.\n" + "\n".join(faults)
        )
    return {run.notebook.name: Result.load(run.results) for run in runs}


class Prepared(NamedTuple):
    """The folder that Jupyter Book is to build, the judged claims, and by page the marks of
    verdicts that were written for it.
    """

    source: Path
    judged: dict[str, JudgedClaim]
    marks: dict[str, Counter[Mark]]


def prepare_pages(project: Project, runs: list[Run], profile: str) -> Prepared:
    """Write every generated page of the book at a profile.

    The book profile is prepared in place. Any other is prepared in a copy: its output cannot reach
    the book's folder. Raises WorkflowError with the faults of claims, pages and stored runs.
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
    book, chapters = read_book(project), source / "chapters"
    widgets, pages = known_widgets(project.book), {}
    for run in runs:
        name, commit = run.notebook.name, commit_of(project, run.notebook.path)
        chapter = make_chapter(run, results[name], judged, record, book, widgets, commit)
        chapter.write(chapters)
        pages[name] = chapter.page
    texts = write_generated(project, source, judged, results, notebooks, profile, record, pages)
    marks = {f"{CHAPTERS}{name}": chapter_marks(page) for name, page in pages.items()}
    return Prepared(source, judged, marks | prose_marks(source, toc_pages(project), texts))


def build_site(
    project: Project,
    runs: list[Run],
    profile: str,
    check: Callable[[], list[str]] = list,
) -> tuple[Path, bool]:
    """Render the site of a profile from its stored results; return its folder, and whether anything
    had to be rendered. `check` says, before the site is published, which sources have changed.
    Raises WorkflowError with the faults of its sources or of the site, or if a source changed
    meanwhile.
    """
    source, judged, marks = prepare_pages(project, runs, profile)
    html = project.html(profile)

    def finish(made: Path) -> list[str]:
        return site_faults(project, made, judged, marks) or check()

    return render_changed(project, source, html, finish)


def render_changed(
    project: Project, source: Path, html: Path, finish: Callable[[Path], list[str]]
) -> tuple[Path, bool]:
    """Render the book folder `source` into `html` unless the site there was rendered from the same
    sources; the site, and whether it had to be rendered.

    `finish` completes a rendered site, whose folder it is given, and returns its faults. Raises
    WorkflowError with these, with what Jupyter Book complains of, or if a source changed meanwhile;
    the old site then stays.
    """
    work = html.with_name(f"{html.name}-work")
    stamp, state = work / "stamp.json", _state(project, source)
    last = _read_stamp(stamp)
    if last == {**state, "site": digest_of([html])} and not outdated_pages(doctrees(html)):
        return html, False
    if last.get("frame") != state["frame"]:
        # the last rendering did not end, and Sphinx would keep what it cut short; or there is other
        # input than pages
        shutil.rmtree(work, ignore_errors=True)
    stamp.unlink(missing_ok=True)
    made = render(project, source, html)
    if faults := finish(made):
        raise WorkflowError(
            "The site was built, but:\n" + "\n".join(faults) + "\nThe old site, if any, stays."
        )
    if _state(project, source) != state:
        raise WorkflowError(
            "A source of the book changed while the site was built: build it again. The old site, "
            "if any, stays."
        )
    publish(made, html)
    write_atomically(stamp, json.dumps({**state, "site": digest_of([html])}))
    return html, True


def _staged_copy(project: Project, profile: str) -> Path:
    """A copy of the book folder without its chapters; unchanged files keep their dates, so that
    Sphinx can skip them.
    """
    target = project.staged(profile)
    relatives = [path.relative_to(project.book) for path in files_below(project.book)]
    originals = {path for path in relatives if path.parts[0] != "chapters"}
    for relative in originals:
        (target / relative).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(project.book / relative, target / relative)
    for path in list(files_below(target)):
        if not path.resolve().is_relative_to(target.resolve()):
            continue  # behind a link: not what a build has made
        if (
            path.relative_to(target) not in originals
            and path.relative_to(target).parts[0] != "chapters"
        ):
            path.unlink()
    return target


def _state(project: Project, source: Path) -> dict[str, str]:
    """Hashes of everything that decides the site: `frame`, after a change of which nothing of the
    last rendering is kept (configuration, table of contents, styles, pictures, references,
    installed packages), and all `sources`.
    """
    modules = [
        path
        for package in project.packages
        for path in files_below(package)
        if path.suffix == ".py"
    ]
    configuration = project.root / "_config.yml"
    frame = [
        path
        for path in files_below(source)
        if path.suffix != ".md" and not _is_content(path.relative_to(source))
    ]
    return {
        "frame": sha256(
            canonical_json([digest_of([configuration, ASSETS, *frame]), installed_packages()])
        ),
        "sources": digest_of([source, *modules]),
    }


def _is_content(path: Path) -> bool:
    """Whether a file of the book folder reaches the site by pages only, which are compared one by
    one.
    """
    return path.parts[0] in (
        "chapters",
        "claims",
        "claims.yml",
        "history",
        "landing.yml",
        "records",
    )


def _read_stamp(path: Path) -> dict[str, str]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return {}
