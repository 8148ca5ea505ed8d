"""The command `ntpcompanion`: parses arguments, shows progress, turns errors into sentences and
exit codes.
"""

import functools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.yaml_files import read_yaml
from ntpcompanion.workflow.claims import baselines
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.doctor.report import examine, shown
from ntpcompanion.workflow.notebooks.notebook import choose, find_notebooks
from ntpcompanion.workflow.notebooks.profiles import check_profile, parse_overrides, read_profiles
from ntpcompanion.workflow.records.overview import in_words, planned_in_words, read_sweep
from ntpcompanion.workflow.records.record import make_record
from ntpcompanion.workflow.records.sweep import Progress as SweepProgress
from ntpcompanion.workflow.records.sweep import run_sweep
from ntpcompanion.workflow.running import execute as runner
from ntpcompanion.workflow.running import freshness
from ntpcompanion.workflow.running.results import Result
from ntpcompanion.workflow.running.runs import (
    Run,
    plan,
    present_parts,
    stale_reasons,
    unused_defaults,
)
from ntpcompanion.workflow.site import build
from ntpcompanion.workflow.site.render import recover_site, require_jupyter_book_1
from ntpcompanion.workflow.site.server import site_server

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="Execute, check and build the reproducible paper companion.",
)

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME ...]", help="Notebooks, by name; all if none is given."),
]
Profile = Annotated[str, typer.Option(help="smoke, book or paper: see notebooks/profiles.yml.")]
Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", help="Notebooks or tasks at once, each in a process of its own."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "-p",
        metavar="NAME=VALUE",
        help="Override a parameter of every notebook chosen; the outcome goes to _build/runs.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Run again even what is up to date.")]
Processes = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        help="Tasks at once [default: as cores and memory allow].",
        show_default=False,
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="tcp://HOST:PORT",
        help="Run the tasks on an existing cluster of Dask, whose scheduler is there.",
    ),
]
CORES = os.cpu_count() or 1


def _sentences(command: Callable) -> Callable:
    """Show a WorkflowError as text and exit with 1, an interruption with 130; anything else is a
    bug and keeps its traceback.
    """

    @functools.wraps(command)
    def wrapped(*args: object, **kwargs: object) -> object:
        try:
            for stream in (sys.stdout, sys.stderr):
                # an ASCII terminal shows \u2192 for an arrow
                stream.reconfigure(errors="backslashreplace")
            return command(*args, **kwargs)
        except WorkflowError as error:
            Console(stderr=True, soft_wrap=True).print(
                f"[bold red]error:[/] {escape(str(error))}", highlight=False
            )
            raise typer.Exit(1) from error
        except KeyboardInterrupt as error:
            said = (
                "interrupted. What was finished is kept, nothing is half-written: the same command "
                "goes on from there."
            )
            Console(stderr=True, soft_wrap=True).print(said)
            raise typer.Exit(130) from error

    return wrapped


@app.command("list")
@_sentences
def list_(profile: Profile = "book") -> None:
    """The notebooks, their state at a profile, and what the last run took."""
    runs = _runs(_project(), [], profile, [])
    table = Table("notebook", "state", "seconds", "claims measured", "title")
    for run in runs:
        reasons = stale_reasons(run)
        result = None if reasons == ["never run"] else _stored(run)
        state = "up to date" if not reasons else reasons[0] if reasons == ["never run"] else "stale"
        table.add_row(
            run.notebook.name,
            state,
            f"{result.seconds:.1f}" if result else "",
            str(len(result.measurements)) if result else "",
            run.notebook.title,
        )
    Console().print(table)


@app.command()
@_sentences
def execute(
    names: Names = None,
    profile: Profile = "book",
    parameter: Overrides = None,
    jobs: Jobs = CORES,
    force: Force = False,
) -> None:
    """Run the notebooks that are stale; a failing one does not stop the others."""
    project = _project()
    runs = _runs(project, names or [], profile, parameter or [])
    with project.lock():
        _execute(runs, jobs, force)
    if parameter:
        for run in runs:
            Console(soft_wrap=True).print(f"{run.notebook.name}: {run.page}", highlight=False)


@app.command("build")
@_sentences
def build_(profile: Profile = "book", jobs: Jobs = CORES, force: Force = False) -> None:
    """Run what is stale, write ledger and status, render the book, assert that it is complete."""
    project = _project()
    runs = _runs(project, [], profile, [])
    # faults of claims, configuration, pages and Jupyter Book are found in a second, not after the
    # runs
    load_claims(project)
    # of two settings of one name, Jupyter Book takes the last without a word
    read_yaml(project.root / "_config.yml")
    if faults := build.page_faults(project, [run.notebook.name for run in runs]):
        raise WorkflowError("\n".join(faults))
    require_jupyter_book_1()
    with project.lock():
        recover_site(project.html(profile))
        _execute(runs, jobs, force)
        html, made = build.build_site(project, runs, profile)
    Console(soft_wrap=True).print(
        f"{'Built' if made else 'Unchanged:'} {html / 'index.html'}", highlight=False
    )


@app.command()
@_sentences
def check(
    profile: Profile = "smoke",
    parameter: Overrides = None,
    update: Annotated[
        bool,
        typer.Option(
            "--update", help="Accept the present values as the baseline, and show what changes."
        ),
    ] = False,
) -> None:
    """Compare measured values with the stored baseline and verdicts with those expected; exit 1 if
    one moved.
    """
    project, console = _project(), Console(soft_wrap=True)
    if update and parameter:
        raise WorkflowError(
            "`--update` takes no `-p`: a baseline holds what the parameters of the profile give. "
            "Leave one of them out."
        )
    results = build.current_results(_runs(project, [], profile, parameter or []))
    claims, path = load_claims(project), project.baseline(profile)
    stored = baselines.read_baseline(path)
    found = baselines.compare(results, claims, stored, profile)
    for line in (*found.notes, *found.faults):
        console.print(escape(line), highlight=False)
    if update:
        baselines.write_baseline(path, baselines.updated(stored, results))
        console.print(f"Wrote {path}; review it with `git diff`.", highlight=False)
        found = baselines.compare(results, claims, baselines.read_baseline(path), profile)
    count = sum(len(result.measurements) for result in results.values())
    if found.faults:
        raise WorkflowError(
            f"{len(found.faults)} of the checks on {count} measured values failed at profile "
            f"{profile}"
            + (", verdicts among them: a baseline cannot mend those." if update else ".")
        )
    console.print(
        f"{count} measured values agree with {path.name} and with the expected verdicts.",
        highlight=False,
    )


@app.command()
@_sentences
def why(
    name: Annotated[str, typer.Argument(help="A notebook.")], profile: Profile = "book"
) -> None:
    """Say why a notebook would be run again, or that it would not."""
    run = _runs(_project(), [name], profile, [])[0]
    reasons = stale_reasons(run)
    console = Console(soft_wrap=True)
    if not reasons:
        parts = present_parts(run, Result.load(run.results))
        console.print(
            f"{name} ({profile}) is up to date: key {freshness.key(parts)[:12]} over "
            f"{len(parts['package source'])} package files.",
            highlight=False,
        )
    for reason in reasons:
        console.print(f"{name} ({profile}): {escape(reason)}", highlight=False)
    for note in unused_defaults(run):
        console.print(f"{name} ({profile}): {escape(note)}", highlight=False)


@app.command()
@_sentences
def record(
    name: Annotated[str, typer.Argument(help="An entry of book/records/plans.yml.")],
    jobs: Processes = None,
    scheduler: Scheduler = None,
) -> None:
    """Make a recorded run; run the same command again to resume one that was interrupted."""
    project = _project()
    with _bars() as bars:
        task = bars.add_task(name, total=None)
        path = make_record(
            project,
            name,
            jobs=jobs,
            scheduler=scheduler,
            report=lambda done, total: bars.update(task, completed=done, total=total),
            note=lambda text: _say(text, bars.console),
        )
    Console(soft_wrap=True).print(f"Wrote {path}", highlight=False)


@app.command()
@_sentences
def sweep(
    name: Annotated[str, typer.Argument(help="A notebook or an experiment.")],
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="A parameter to vary: 0.1,0.5 or 20:200:20, which are 20, 40, ..., 180: the stop "
            "is exclusive, as in a slice of Python. Several grids are combined.",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="START:STOP", help="Values of `seed`; 0:10 are 0 to 9, the stop is exclusive."
        ),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("-p", metavar="NAME=VALUE", help="A parameter that all runs share."),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="Of a notebook: smoke, book or paper [default: book].")
    ] = None,
    jobs: Processes = None,
    scheduler: Scheduler = None,
    notebooks: Annotated[
        bool, typer.Option("--notebooks", help="Keep each executed notebook, too.")
    ] = False,
    retry: Annotated[
        bool, typer.Option("--retry", help="Run again what failed in an earlier sweep.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.parquet", help="Where to write the table.")
    ] = None,
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
        notebooks=notebooks,
        retry=retry,
    )
    _say(planned_in_words(planned, jobs, scheduler))
    said = ""
    with _bars() as bars:
        task = bars.add_task(name, total=len(planned.points))

        def report(told: SweepProgress) -> None:
            nonlocal said
            said = in_words(told)
            bars.update(task, completed=told.finished, description=f"{name}: {said}")

        options = {"jobs": jobs, "scheduler": scheduler, "out": out, "report": report}
        path = run_sweep(planned, **options, note=lambda text: _say(text, bars.console))
    _say(f"{said}\nWrote {path}")


@app.command()
@_sentences
def doctor() -> None:
    """Say what is wrong with this environment and machine, and how to mend it; exit 1 if the book
    could not be made.
    """
    project, console = Project.find(), Console(soft_wrap=True)
    with console.status("Looking at packages, kernel, torch, browser and folders ..."):
        found = examine(project)
    for check in found:
        line = Text(shown(check, min(console.width, 110)))
        line.stylize(
            {"ok": "green", "warning": "bold yellow", "fault": "bold red"}[check.state],
            0,
            len(check.state),
        )
        console.print(line)
    states = [check.state for check in found]
    counts = [
        f"{n} {word}{'s' * (n != 1)}" for word in ("fault", "warning") if (n := states.count(word))
    ]
    console.print(f"{len(found)} checks: {', '.join(counts) or 'all ok'}.", highlight=False)
    if "fault" in states:
        raise typer.Exit(1)


@app.command()
@_sentences
def serve(
    port: Annotated[int, typer.Option(help="Port on this machine.")] = 8000,
    profile: Profile = "book",
) -> None:
    """Show the built book at http://127.0.0.1:PORT until interrupted."""
    project = _project()
    html = project.html(check_profile(profile))
    if not html.exists() and project.build.exists():
        with project.lock():
            recover_site(html)
    if not (html / "index.html").is_file():
        raise WorkflowError(
            f"There is no site in {html}. Run `ntpcompanion build --profile {profile}` first."
        )
    server = site_server(html, port)
    Console().print(
        f"http://127.0.0.1:{server.server_port}/index.html   (Ctrl-C ends)", highlight=False
    )
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


def _say(text: str, console: Console | None = None) -> None:
    (console or Console()).print(escape(text), highlight=False, soft_wrap=True)


def _project() -> Project:
    project = Project.find()
    project.require_own_package()
    return project


def _runs(project: Project, names: list[str], profile: str, overrides: list[str]) -> list[Run]:
    check_profile(profile)
    known = find_notebooks(project)
    profiles = read_profiles(project, known)
    chosen = choose(known, names)
    return [
        plan(project, notebook, profile, profiles, parse_overrides(notebook, overrides))
        for notebook in chosen
    ]


def _stored(run: Run) -> Result | None:
    try:
        return Result.load(run.results)
    except WorkflowError:
        return None


def _bars() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        transient=True,
        disable=not Console().is_terminal,
    )


def _execute(runs: list[Run], jobs: int, force: bool) -> None:
    began = time.perf_counter()
    with _bars() as bars:
        tasks = {run.stem: bars.add_task(run.notebook.name, start=False) for run in runs}

        def report(run: Run, state: str, cell: int, cells: int) -> None:
            bars.start_task(tasks[run.stem])
            bars.update(tasks[run.stem], completed=cell, total=cells)

        outcomes = runner.execute(runs, jobs=jobs, force=force, report=report)
    console = Console(soft_wrap=True)
    for outcome in outcomes:
        seconds = f", {outcome.seconds:.1f} s" if outcome.status != "fresh" else ""
        word = {"fresh": "up to date", "done": "executed", "failed": "[bold red]failed[/]"}[
            outcome.status
        ]
        console.print(
            f"{outcome.run.notebook.name} ({outcome.run.profile}): {word}{seconds}", highlight=False
        )
        for note in outcome.notes:
            console.print(f"  note: {escape(note)}", highlight=False)
    failures = [outcome.message for outcome in outcomes if outcome.status == "failed"]
    if failures:
        raise WorkflowError("\n\n".join(failures))
    if len(runs) > 1:
        console.print(
            f"{len(runs)} notebooks in {time.perf_counter() - began:.1f} s", highlight=False
        )


def main() -> None:
    """Entry point of `python -m ntpcompanion.cli`."""
    app()


if __name__ == "__main__":
    main()
