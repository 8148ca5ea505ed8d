"""What `check` and `doctor` show: findings as lines, annotations and files of a report."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from ntpcompanion.terminal import say
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking import reports
from ntpcompanion.workflow.checking.check_report import Report, report_json
from ntpcompanion.workflow.checking.reports import Files
from ntpcompanion.workflow.doctor.doctor_report import shown
from ntpcompanion.workflow.doctor.environment_checks import Check

WIDEST = 110  # columns: longer lines of a report are hard to read


@contextlib.contextmanager
def reported_error(
    project: Project, profile: str, files: Files, annotate: bool | None
) -> Iterator[None]:
    """What stops a check from comparing anything stands in its reports, too. Raises that
    WorkflowError again, with a sentence for each report that cannot be written.
    """
    try:
        yield
    except WorkflowError as error:
        unwritten = _publish(project, reports.failed_report(profile, error), files, annotate)
        raise WorkflowError("\n".join([str(error), *unwritten])) from error


def show_report(report: Report, files: Files) -> None:
    """Print the findings of a check: on the error stream where the output is to be JSON."""
    console = Console(stderr=files.json == reports.STDOUT)
    lines = [finding.text for finding in [*report.notes, *report.faults]]
    say(*lines, console=console)


def show_accepted(path: Path, files: Files) -> None:
    """Say where the values now are that a check has accepted."""
    console = Console(stderr=files.json == reports.STDOUT)
    say(f"Wrote {path}; review it with `git diff`.", console=console)


def end_check(
    project: Project, report: Report, files: Files, annotate: bool | None, *, updated: bool
) -> None:
    """Write the reports of a check, and say how it ended. Raises WorkflowError if there are faults,
    or a report cannot be written; `updated`: they remain although the values were accepted.
    """
    unwritten = _publish(project, report, files, annotate)
    one = report.values == 1
    values = f"{report.values} measured value{'' if one else 's'}"
    if faults := len(report.faults):
        also = ", verdicts among them: a baseline cannot fix those" if updated else ""
        message = f"{faults} of the checks on {values} failed at profile {report.profile}{also}."
        raise WorkflowError("\n".join([message, *report.advice, *unwritten]))
    baseline = project.baseline(report.profile).name
    console = Console(stderr=files.json == reports.STDOUT)
    agree = f"{values} agree{'s' if one else ''}"
    say(f"{agree} with {baseline} and with the expected verdicts.", console=console)
    if unwritten:
        raise WorkflowError("\n".join(unwritten))


def _publish(project: Project, report: Report, files: Files, annotate: bool | None) -> list[str]:
    """Print and write the report; a sentence for each file that cannot be written."""
    if files.json == reports.STDOUT:
        typer.echo(report_json(report), nl=False)
    if annotate if annotate is not None else os.environ.get("GITHUB_ACTIONS") == "true":
        for line in reports.annotations(report, project):
            typer.echo(line, err=files.json == reports.STDOUT)
    return reports.write_reports(report, files)


def show_checks(checks: Sequence[Check]) -> None:
    """The report of the doctor, and how many faults and warnings are in it."""
    console = Console(soft_wrap=True)
    colours = {"ok": "green", "warning": "bold yellow", "fault": "bold red"}
    for check in checks:
        line = Text(shown(check, min(console.width, WIDEST)))
        line.stylize(colours[check.state], 0, len(check.state))
        console.print(line)
    states = [check.state for check in checks]
    counts = [
        f"{n} {word}{'s' * (n != 1)}" for word in ("fault", "warning") if (n := states.count(word))
    ]
    say(f"{len(checks)} checks: {', '.join(counts) or 'all ok'}.")
