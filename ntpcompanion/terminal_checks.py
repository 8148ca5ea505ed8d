"""What `check` and `doctor` show: findings as lines, annotations and files of a report."""

import os
from collections.abc import Callable, Mapping, Sequence

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
from ntpcompanion.workflow.running.results import Result

WIDEST = 110  # columns: longer lines of a report are hard to read


def check(
    project: Project,
    profile: str,
    results: Callable[[], Mapping[str, Result]],
    files: Files,
    annotate: bool | None,
    update: bool,
) -> None:
    """Compare the stored results of a profile, say and write what was found, and make the values
    the baseline where that is asked for (`update`). The output is left to JSON if it goes there.

    Raises WorkflowError if there are faults, if nothing could be compared, which stands in the
    reports, too, or if a report cannot be written.
    """
    console = Console(stderr=files.json == reports.STDOUT)
    try:
        measured = results()
        report = reports.check_results(project, measured, profile)
    except WorkflowError as error:
        unwritten = _publish(project, reports.failed_report(profile, error), files, annotate)
        raise WorkflowError("\n".join([str(error), *unwritten])) from error
    say(*(finding.text for finding in [*report.notes, *report.faults]), console=console)
    if update:
        path = reports.accept(project, measured, profile)
        say(f"Wrote {path}; review it with `git diff`.", console=console)
        report = reports.check_results(project, measured, profile)
    unwritten = _publish(project, report, files, annotate)
    if report.faults:
        raise WorkflowError("\n".join([_failure(report, update), *report.advice, *unwritten]))
    baseline = f"with {project.baseline(profile).name} and with the expected verdicts."
    say(f"{_values(report)} agree{'s' * (report.values == 1)} {baseline}", console=console)
    if unwritten:
        raise WorkflowError("\n".join(unwritten))


def _failure(report: Report, updated: bool) -> str:
    also = ", verdicts among them: a baseline cannot fix those" if updated else ""
    checks = f"{len(report.faults)} of the checks on {_values(report)}"
    return f"{checks} failed at profile {report.profile}{also}."


def _values(report: Report) -> str:
    return f"{report.values} measured value{'s' * (report.values != 1)}"


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
