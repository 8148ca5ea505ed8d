"""What the commands show: lines, tables, progress bars, and errors as sentences with exit codes."""

import contextlib
import errno
import functools
import io
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table
from rich.text import Text

import ntpcompanion
from ntpcompanion.workflow.base.errors import WorkflowError, plain
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking.check_report import Report, accept, check_results, write_reports
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.doctor.doctor_report import Check
from ntpcompanion.workflow.records.making import (
    make_record,
    tolerances_in_words,
    try_miniature,
    verify_record,
)
from ntpcompanion.workflow.running import execute as runner
from ntpcompanion.workflow.running import freshness
from ntpcompanion.workflow.running.results import Result
from ntpcompanion.workflow.running.runs import Run, present_parts, stale_reasons, unused_defaults
from ntpcompanion.workflow.sweeps import campaign
from ntpcompanion.workflow.sweeps.sweep import planned_in_words, run_sweep

P = ParamSpec("P")
R = TypeVar("R")
FULL = {errno.ENOSPC, errno.EDQUOT}
INTERRUPTED = (
    "interrupted. What was finished is kept, nothing is half-written: the same command goes on "
    "from there."
)


def sentences(command: Callable[P, R]) -> Callable[P, R]:
    """Show a WorkflowError or a full disk as text and exit with 1, an interruption with 130;
    anything else is a bug and keeps its traceback.
    """

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # an ASCII terminal shows \u2192 for an arrow
                stream.reconfigure(errors="backslashreplace")
        try:
            return command(*args, **kwargs)
        except WorkflowError as error:
            _print(f"[bold red]error:[/] {escape(str(error))}", Console(stderr=True))
            raise typer.Exit(1) from error
        except OSError as error:
            if error.errno not in FULL:
                raise
            with contextlib.suppress(OSError):  # the errors may go to the same disk
                _print(f"[bold red]error:[/] {_full(error)}", Console(stderr=True))
            raise typer.Exit(1) from error
        except KeyboardInterrupt as error:
            _print(INTERRUPTED, Console(stderr=True))
            raise typer.Exit(130) from error

    return wrapped


def _full(error: OSError) -> str:
    named = f": {escape(os.fsdecode(error.filename))}" if error.filename else ""
    return (
        f"{error.strerror}{named}. Free some space on the disk of this folder, of temporary files, "
        "or of the file to which the output goes; then type the same command again."
    )


def say(*lines: str, console: Console | None = None) -> None:
    """Print lines as they are: nothing in them is taken for a colour, and none is broken. Above
    progress bars that are shown, with their console.
    """
    console = console or Console()
    for line in lines:
        _print(escape(line), console)


@sentences
def show_version() -> NoReturn:
    say(f"ntpcompanion {ntpcompanion.__version__}, Python {platform.python_version()}")
    raise typer.Exit


def bars() -> Progress:
    """Progress bars, shown on a terminal only, and only as long as they move."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=(console := Console(stderr=True)),
        transient=True,
        disable=not console.is_terminal,
    )


def execute(runs: Sequence[Run], jobs: int, force: bool) -> None:
    """Bring runs up to date behind progress bars, and say what became of each."""
    began = time.perf_counter()
    plain = not Console().is_terminal  # in a log a line for each as it begins and ends, no bars
    with bars() as progress:
        tasks = {run.stem: progress.add_task(run.notebook.name, start=False) for run in runs}

        def report(run: Run, state: str, cell: int, cells: int) -> None:
            progress.start_task(tasks[run.stem])
            progress.update(tasks[run.stem], completed=cell, total=cells)
            if plain and state == "cell" and cell == 1:
                say(f"{_name(run)}: running, {cells} code cells")

        outcomes = runner.execute(
            runs, jobs=jobs, force=force, report=report, ended=_show_outcome if plain else None
        )
    for outcome in outcomes if not plain else ():
        _show_outcome(outcome)
    if failures := [outcome.message for outcome in outcomes if outcome.status == "failed"]:
        raise WorkflowError("\n\n".join(failures))
    if len(runs) > 1:
        say(f"{len(runs)} notebooks in {time.perf_counter() - began:.1f} s")


def _name(run: Run) -> str:
    return f"{run.notebook.name} ({run.profile})"


def _show_outcome(outcome: runner.Outcome) -> None:
    words = {"fresh": "up to date", "done": "executed", "failed": "[bold red]failed[/]"}
    seconds = f", {outcome.seconds:.1f} s" if outcome.status != "fresh" else ""
    _print(f"{escape(_name(outcome.run))}: {words[outcome.status]}{seconds}", Console())
    say(*(f"  note: {note}" for note in outcome.notes))


def show_beside(run: Run, book_run: Run) -> None:
    """Where a run with parameters of its own is kept, and each number that it has measured beside
    the book's; the verdicts are by what is expected of the book's parameters.
    """
    say(f"{run.notebook.name}: {run.executed}")
    claims, ours = load_claims(run.project), Result.load(run.results).measurements
    try:
        theirs = Result.load(book_run.results).measurements
    except WorkflowError:  # never run, or damaged
        theirs = []
    run_claims, book_claims = (judged_claims(claims, items, "book") for items in (ours, theirs))
    claim = Column("claim", overflow="fold")  # an id in full
    table = Table(claim, "in this run", "in the book", "verdict", "in the book")
    table.caption = "Verdicts are by what is expected of the book's parameters."
    for name in (item.claim for item in ours if item.claim in claims):
        pair = run_claims[name], book_claims[name]
        table.add_row(name, *(one.number for one in pair), *(one.verdict for one in pair))
    if table.row_count:
        Console().print(table)


@contextlib.contextmanager
def computing(
    name: str, jobs: int | None, scheduler: str | None
) -> Iterator[tuple[campaign.Options, dict[str, int]]]:
    """A progress bar of a campaign; how it is computed, and the present numbers of tasks by
    state.
    """
    with bars() as progress:
        task, present = progress.add_task(name, total=None), dict[str, int]()

        def report(counts: Mapping[str, int]) -> None:
            present.update(counts)
            total, left = sum(counts.values()), counts["running"] + counts["waiting"]
            shown = f"{name}: {_states(counts)}"
            progress.update(task, completed=total - left, total=total, description=shown)

        note = functools.partial(say, console=progress.console)
        yield campaign.Options(jobs, scheduler, report, note), present


def _states(counts: Mapping[str, int]) -> str:
    """Such as `3 done · 1 failed · 4 waiting`."""
    return " · ".join(f"{number} {state}" for state, number in counts.items() if number)


def record(
    project: Project, name: str, jobs: int | None, scheduler: str | None, verify: int | None
) -> None:
    with computing(name, jobs, scheduler) as (options, _):
        if verify is None:
            message = f"Wrote {make_record(project, name, options)}"
        else:
            verification = verify_record(project, name, verify, options)
            message = (
                f"{verification['tasks']} of {verification['of']} tasks of {name!r} gave the "
                f"stored results again; the largest relative deviation is "
                f"{verification['deviation']:.1g}. {tolerances_in_words(verification)}"
            )
    say(message)


def miniature(project: Project, name: str) -> None:
    with computing(name, 1, None) as (options, _):
        seconds = try_miniature(project, name, options)
    say(f"The miniature of {name!r} took {seconds:.0f} s; nothing is kept.")


def run_planned(
    planned: campaign.Campaign, jobs: int | None, scheduler: str | None, out: Path | None
) -> None:
    words = planned_in_words(planned, campaign.Options(jobs, scheduler))
    say(words, console=Console(stderr=True))
    with computing(planned.target.name, jobs, scheduler) as (options, present):
        path = run_sweep(planned, options, out)
    say(_states(present), f"Wrote {path}")


def show_states(runs: Iterable[Run]) -> None:
    name = Column("notebook", no_wrap=True, overflow="fold")
    table = Table(name, "state", "seconds", "claims measured", "title")
    for run in runs:  # a title is no markup, whatever brackets it has
        table.add_row(run.notebook.name, *_state(run), Text(run.notebook.title))
    Console().print(table)


def show_reasons(run: Run) -> None:
    name, reasons = _name(run), stale_reasons(run)
    if not reasons:
        parts = present_parts(run, Result.load(run.results))
        files = f"{len(parts['package source'])} package files"
        say(f"{name} is up to date: key {freshness.key(parts)[:12]} over {files}.")
    say(*(f"{name}: {line}" for line in [*reasons, *unused_defaults(run)]))


def _state(run: Run) -> tuple[str, str, str]:
    reasons = stale_reasons(run)
    if reasons == ["never run"]:
        return "never run", "", ""
    state = "stale" if reasons else "up to date"
    try:
        result = Result.load(run.results)
    except WorkflowError:  # damaged: the next run replaces it
        return state, "", ""
    return state, f"{result.seconds:.1f}", str(len(result.measurements))


def _print(text: str, console: Console) -> None:
    console.print(text, soft_wrap=True, highlight=False, emoji=False)


def check(
    project: Project,
    profile: str,
    results: Callable[[], Mapping[str, Result]],
    summary: Path | None,
    data: Path | None,
    update: bool,
) -> None:
    """Compare the stored results of a profile, say and write what was found, and make the values
    the baseline where that is asked for (`update`).
    """
    try:
        measured = results()
        report = check_results(project, measured, profile)
    except WorkflowError as error:
        report = Report(profile=profile, error=plain(str(error)))
        unwritten = write_reports(report, summary, data)
        raise WorkflowError("\n".join([str(error), *unwritten])) from error
    say(*(finding.text for finding in [*report.notes, *report.faults]))
    if update:
        say(f"Wrote {accept(project, measured, profile)}; review it with `git diff`.")
        report = check_results(project, measured, profile)
    unwritten = write_reports(report, summary, data)
    values = f"{report.values} measured value{'s' * (report.values != 1)}"
    if faults := report.faults:
        verdicts = update and any(fault.kind == "verdict" for fault in faults)
        also = ", verdicts among them: a baseline cannot fix those" if verdicts else ""
        failed = f"{len(faults)} of the checks on {values} failed at profile {profile}{also}."
        raise WorkflowError("\n".join([failed, *report.advice, *unwritten]))
    baseline = f"with {project.baseline(profile).name} and with the expected verdicts."
    say(f"{values} agree{'s' * (report.values == 1)} {baseline}")
    if unwritten:
        raise WorkflowError("\n".join(unwritten))


def show_checks(checks: Sequence[Check]) -> None:
    """The report of the doctor, and how many faults and warnings are in it."""
    colours = {"ok": "green", "warning": "bold yellow", "fault": "bold red"}
    # paths and commands are folded and not cut off
    columns = Column(), Column(), Column(overflow="fold")
    table = Table(*columns, box=None, show_header=False, pad_edge=False)
    for check in checks:
        words = f"{check.result}\n{check.fix}" if check.fix else check.result
        table.add_row(Text(check.state, colours[check.state]), Text(check.name), Text(words))
    Console().print(table)
    states = [check.state for check in checks]
    counts = [
        f"{n} {word}{'s' * (n != 1)}" for word in ("fault", "warning") if (n := states.count(word))
    ]
    say(f"{len(checks)} checks: {', '.join(counts) or 'all ok'}.")
