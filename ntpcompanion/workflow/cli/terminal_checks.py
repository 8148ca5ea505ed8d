"""What `check` and `doctor` show: findings as lines, and the files of a summary and of data."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from ntpcompanion.workflow.base.errors import WorkflowError, plain
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking.check_report import Report, accept, check_results
from ntpcompanion.workflow.checking.formats import write_reports
from ntpcompanion.workflow.cli.terminal import say
from ntpcompanion.workflow.doctor.doctor_report import Check
from ntpcompanion.workflow.running.results import Result


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

    Raises WorkflowError if there are faults, if nothing could be compared, which stands in the
    files, too, or if that cannot be written.
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
        also = ", verdicts among them: a baseline cannot fix those" if update else ""
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
