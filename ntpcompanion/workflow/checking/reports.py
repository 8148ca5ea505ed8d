"""The stored runs of a profile compared with its baseline, and what is written about it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError, plain
from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking import formats
from ntpcompanion.workflow.checking.check_report import Report, make_report, report_json
from ntpcompanion.workflow.checking.value_comparison import compare
from ntpcompanion.workflow.claims import baselines
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.running.results import Result

STDOUT = Path("-")
ENDINGS = {"json": "json", "summary": "md"}
SUMMARY = "GITHUB_STEP_SUMMARY"  # GitHub's own: the file to which steps append


@dataclass(frozen=True)
class Files:
    """Where the report is to be written; None: nowhere. `STDOUT` as `json` is left to the caller.

    What goes to `summary` is also added to the file that the host names in the environment.
    Raises WorkflowError for a path that names no file.
    """

    json: Path | None = None
    summary: Path | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            path = getattr(self, each.name)
            instead = f"Name a file, like `--{each.name} check.{ENDINGS[each.name]}`."
            if path == Path():
                raise WorkflowError(f"`--{each.name}` names no file. {instead}")
            if path == STDOUT and each.name != "json":
                raise WorkflowError(f"Only `--json` takes -, which is the output. {instead}")


def check_results(project: Project, results: Mapping[str, Result], profile: str) -> Report:
    """Compare stored results with the baseline of the profile. Raises WorkflowError if claims or
    baseline cannot be read.
    """
    stored = baselines.read_baseline(project.baseline(profile))
    measured = [item for result in results.values() for item in result.measurements]
    judged = judged_claims(load_claims(project), measured, profile)
    findings = compare(results, judged, stored, profile)
    return make_report(project, results, judged, stored, profile, findings)


def accept(project: Project, results: Mapping[str, Result], profile: str) -> Path:
    """Make the values of stored results the baseline of the profile; return its file. Raises
    WorkflowError if claims or baseline cannot be read, or the baseline not be written.
    """
    path = project.baseline(profile)
    stored = baselines.read_baseline(path)
    baselines.write_baseline(path, baselines.updated(stored, results, load_claims(project)))
    return path


def failed_report(profile: str, error: WorkflowError) -> Report:
    """The report of a check that could not be made: a file of an earlier one would tell a tale."""
    return Report(profile=profile, outcome="error", error=plain(str(error)))


def write_reports(report: Report, files: Files) -> list[str]:
    """Write a report where it was asked for; a sentence for each file that cannot be written. The
    others are written all the same.
    """
    markdown = formats.markdown(report)
    host = os.environ.get(SUMMARY)
    wanted = [
        ("--json", None if files.json == STDOUT else files.json, report_json(report)),
        ("--summary", None if str(files.summary) == host else files.summary, markdown),
        (f"${SUMMARY}", Path(host) if host else None, markdown + "\n"),
    ]
    faults = []
    for name, path, text in wanted:
        try:
            if path is not None:
                _write(path, text, append=name.startswith("$"))
        except WorkflowError as error:
            faults.append(f"`{name}`: {error}")
    return faults


def _write(path: Path, text: str, *, append: bool = False) -> None:
    # what is replaced must be a file of its own: /dev/stdout is a link to where the output goes
    if not append and not path.is_symlink() and (path.is_file() or not path.exists()):
        write_atomically(path, text)
        return
    try:
        with path.open("a" if append else "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise WorkflowError(
            f"{path} cannot be written: {error.strerror or error}. Free some space, or name a file "
            "in a folder that you may write to."
        ) from error


def annotations(report: Report, project: Project) -> list[str]:
    """The findings as lines that GitHub shows beside the code; paths begin at the folder that was
    checked out.
    """
    workspace = os.environ.get("GITHUB_WORKSPACE")
    folder = ""
    if workspace and project.root.is_relative_to(Path(workspace).resolve()):
        folder = project.root.relative_to(Path(workspace).resolve()).as_posix()
    return formats.annotations(report, "" if folder == "." else folder)
