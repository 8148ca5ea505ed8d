"""The command `ntpcompanion`: the only place that parses arguments. What it shows is made by
`terminal`.
"""

import functools
from pathlib import Path
from typing import Annotated

import typer

from ntpcompanion.workflow.base.environment import make_importable
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.yaml_files import read_yaml
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.cli import options, terminal
from ntpcompanion.workflow.doctor.doctor_report import examine
from ntpcompanion.workflow.notebooks.contents import page_faults
from ntpcompanion.workflow.notebooks.lab import start_lab
from ntpcompanion.workflow.notebooks.profiles import check_profile
from ntpcompanion.workflow.records.record import next_in_queue
from ntpcompanion.workflow.running import history as running_history
from ntpcompanion.workflow.running.results import Result
from ntpcompanion.workflow.running.runs import chosen_runs, current_results
from ntpcompanion.workflow.site import build_site as build
from ntpcompanion.workflow.site import unchanged
from ntpcompanion.workflow.site.render import recover_site, require_jupyter_book_1
from ntpcompanion.workflow.starting.new_book import PACKAGE, new_book, next_steps
from ntpcompanion.workflow.sweeps.sweep import read_sweep

VERSION = typer.Option(
    "--version",
    help="Say which version this is, and stop.",
    callback=lambda asked: terminal.show_version() if asked else None,
    is_eager=True,
)
app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    help="Execute, check and build the reproducible paper companion.",
)


@app.callback()
def common(version: Annotated[bool | None, VERSION] = None) -> None:
    """Options of no command."""


@app.command("list")
@terminal.sentences
def list_(profile: options.Profile = "book") -> None:
    """The notebooks, their state at a profile, and what the last run took."""
    terminal.show_states(chosen_runs(_project(), profile))


@app.command()
@terminal.sentences
def execute(
    names: options.Names = None,
    profile: options.Profile = "book",
    parameter: options.Overrides = None,
    jobs: options.Jobs = options.CORES,
    force: options.Force = False,
) -> None:
    """Run the notebooks that are stale; a failing one does not stop the others."""
    project = _project()
    runs = chosen_runs(project, profile, names or (), parameter or ())
    with project.lock():
        terminal.execute(runs, jobs, force)
    if parameter:
        for run, book_run in zip(runs, chosen_runs(project, "book", names or ()), strict=True):
            terminal.show_beside(run, book_run)


@app.command("build")
@terminal.sentences
def build_(
    profile: options.Profile = "book",
    jobs: options.Jobs = options.CORES,
    force: options.Force = False,
) -> None:
    """Run what is stale, write ledger and status, render the book, assert that it is complete."""
    check_profile(profile)
    with _project().lock():
        before = unchanged.stamps(_project())
        project = _project()  # again: its settings are a source, too
        page = project.html(profile) / "index.html"
        sources = unchanged.sources_digest(project)
        if not force and unchanged.is_unchanged(project, profile, sources):
            terminal.say(f"Unchanged: {page}")
            return
        runs = chosen_runs(project, profile)
        # faults of claims, settings and pages are found in a second, not after the runs
        load_claims(project)
        # of two settings of one name, Jupyter Book takes the last without a word
        read_yaml(project.root / "_config.yml")
        if faults := page_faults(project, [run.notebook.name for run in runs]):
            raise WorkflowError("\n".join(faults))
        require_jupyter_book_1()
        recover_site(project.html(profile))
        terminal.execute(runs, jobs, force)
        seen = functools.partial(unchanged.changes, project, before, runs)
        build.build_site(project, runs, profile, seen)
        unchanged.remember(project, profile, runs, sources)
    terminal.say(f"Built {page}")


@app.command()
@terminal.sentences
def check(
    profile: options.Profile = "smoke",
    parameter: options.Overrides = None,
    update: options.Update = False,
    summary: options.SummaryFile = None,
    json: options.JsonFile = None,
) -> None:
    """Compare measured values with the stored baseline and verdicts with those expected; exit 1 if
    one moved.
    """
    for option, file, example in (("summary", summary, "check.md"), ("json", json, "check.json")):
        if file in (Path(), Path("-")):
            raise WorkflowError(
                f"`--{option}` names no file. Name one, like `--{option} {example}`."
            )
    if update and parameter:
        raise WorkflowError(
            "`--update` takes no `-p`: a baseline holds what the parameters of the profile give. "
            "Leave one of them out."
        )
    project = _project()

    def results() -> dict[str, Result]:
        return current_results(chosen_runs(project, profile, (), parameter or ()))

    terminal.check(project, profile, results, summary, json, update)


@app.command()
@terminal.sentences
def history(profile: options.Profile = "book") -> None:
    """Keep the values of the stored runs in book/history, to compare builds and machines."""
    project = _project()
    results = current_results(chosen_runs(project, profile))
    commit = running_history.present_commit(project)
    entry = running_history.entry_of(results, load_claims(project), profile, commit)
    path = running_history.append_entry(project, entry)
    terminal.say(f"Wrote {path}." if path else "The history holds these values already.")


@app.command()
@terminal.sentences
def why(name: options.Name, profile: options.Profile = "book") -> None:
    """Say why a notebook would be run again, or that it would not."""
    terminal.show_reasons(chosen_runs(_project(), profile, [name])[0])


@app.command()
@terminal.sentences
def record(
    name: options.RecordName = None,
    jobs: options.Processes = None,
    scheduler: options.Scheduler = None,
    verify: options.Verify = None,
    queue: options.Queue = False,
    miniature: options.Miniature = False,
) -> None:
    """Make a recorded run; run the same command again to resume one that was interrupted."""
    if queue == (name is not None) or ((miniature or queue) and verify is not None):
        raise WorkflowError(
            "Type `record NAME` or `record --queue`, either alone or with `--miniature`, or "
            "`record NAME --verify K`: what waits in the queue has no record yet."
        )
    if miniature and (jobs is not None or scheduler is not None):
        raise WorkflowError("`--miniature` runs one task here: leave out `-j` and `--scheduler`.")
    project = _project()
    chosen = name or next_in_queue(project)
    if miniature:
        terminal.miniature(project, chosen)
    else:
        terminal.record(project, chosen, jobs, scheduler, verify)


@app.command()
@terminal.sentences
def sweep(
    name: options.Target,
    grid: options.Grid = None,
    seeds: options.Seeds = None,
    parameter: options.Shared = None,
    profile: options.NotebookProfile = None,
    jobs: options.Processes = None,
    scheduler: options.Scheduler = None,
    retry: options.Retry = False,
    out: options.TableFile = None,
) -> None:
    """Run a notebook or an experiment at every point of a grid, and collect what it finds in one
    table; the same command goes on where one was interrupted.
    """
    planned = read_sweep(
        _project(),
        name,
        grid or [],
        seeds=seeds,
        fixed=parameter or [],
        profile=profile,
        retry=retry,
    )
    terminal.run_planned(planned, jobs, scheduler, out)


@app.command()
@terminal.sentences
def doctor() -> None:
    """Say what is wrong with this environment and machine, and how to fix it; exit 1 if the book
    could not be made.
    """
    checks = examine(Project.find())
    terminal.show_checks(checks)
    if any(check.state == "fault" for check in checks):
        raise typer.Exit(1)


@app.command()
@terminal.sentences
def init(folder: options.NewFolder, package: options.NewPackage = PACKAGE) -> None:
    """Make a small book of your own, which builds: a notebook, a claim, a package and tests."""
    terminal.say(*next_steps(new_book(folder, package)))


@app.command()
@terminal.sentences
def lab(browser: options.Browser = True, port: options.FirstPort = 8888) -> None:
    """Open the text notebooks in JupyterLab (extra `lab`). Saving one stores no output."""
    taken = [f"--port={port}", *([] if browser else ["--no-browser"])]
    raise typer.Exit(start_lab(_project(), taken))


def _project() -> Project:
    project = Project.find()
    project.require_own_package()
    project.require_usable()
    make_importable(project)
    return project
