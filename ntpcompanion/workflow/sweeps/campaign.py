"""A campaign: an experiment or a notebook at many points, each result on disk before the next is
waited for. It ends in a table (`sweep`) or in a sealed record (`records`).

Its journal has a line of JSON for each finished task, permanent before the next is waited for, and
sealed with what made it.
"""

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TextIO

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import as_json, checksum
from ntpcompanion.workflow.base.provenance import hardware, hardware_line, library_states
from ntpcompanion.workflow.sweeps.executors import Note, Outcome, as_completed, executor_for
from ntpcompanion.workflow.sweeps.targets import Point, Target
from ntpcompanion.workflow.sweeps.task_process import changed_inputs, present_digests

FIELDS = {"key", "parameters", "state", "result", "seconds", "read", "hardware", "checksum"}
SHOWN = 5  # of many lines that are not used
Line = dict[str, Any]  # of the journal: an outcome with its key, parameters and checksum


@dataclass(frozen=True)
class Options:
    """How tasks are computed; none of it moves a number."""

    jobs: int | None = None  # processes of this machine; None: as many as cores and memory allow
    scheduler: str | None = None  # of a cluster of Dask, whose workers run the tasks instead
    # is given the numbers of tasks by state, whenever they change; "kept" are those of earlier
    # commands
    report: Callable[[Mapping[str, int]], None] = lambda _: None
    note: Note = lambda _: None  # is given sentences for the user

    def __post_init__(self) -> None:
        if self.jobs is not None and self.jobs < 1:
            raise WorkflowError(f"`--jobs` must be at least 1, got {self.jobs}.")


DEFAULT = Options()


@dataclass(frozen=True)
class Campaign:
    """Points that are planned and checked, and the journal in which each finished task is kept.

    With `retry` a task is not finished if it failed, with `needs_all` none begins after one that
    failed.
    """

    target: Target
    points: list[Point]
    journal: Path
    retry: bool = False
    needs_all: bool = False

    def folder(self, point: Point) -> Path:
        """Where the task of a point keeps what it resumes from."""
        return self.journal.with_suffix("") / point.key[:16]

    def finished(self, options: Options = DEFAULT) -> dict[str, Line]:
        """The lines of the journal that answer for some of the points, by key; of several the last.

        A line that does not fit the data files of the project and, unless a cluster runs the tasks,
        this machine is left out, so that its task is run again: a sentence for each is noted.
        """
        points, digest = {point.key for point in self.points}, self.present_digests()
        finished, left_out = {}, {}
        for line in read_journal(self.journal):
            if (key := line["key"]) not in points:
                continue
            if misfit := _misfit(line, digest, elsewhere=options.scheduler is not None):
                left_out[key] = f"{self.journal.name}: The line of {line['parameters']} {misfit}."
            else:
                finished[key] = line
        sentences = [text for key, text in left_out.items() if key not in finished]
        for text in sentences[:SHOWN]:
            options.note(f"{text} The task is run again.")
        if more := len(sentences[SHOWN:]):
            text = f"{self.journal.name}: {more} more lines do not fit. Their tasks are run again."
            options.note(text)
        states = {"done"} if self.retry else {"done", "failed"}
        return {key: line for key, line in finished.items() if line["state"] in states}

    def present_digests(self) -> Callable[[str], str]:
        return present_digests(self.target.project)

    def discard(self) -> None:
        """Remove the journal and what tasks would resume from."""
        self.journal.unlink(missing_ok=True)
        shutil.rmtree(self.journal.with_suffix(""), ignore_errors=True)


def compute(campaign: Campaign, options: Options = DEFAULT) -> list[Line]:
    """The lines of all points in their order, those of the journal and those that are made now.

    A line is used again for the same key and data files and, on this machine, the same hardware. A
    task whose process is killed is tried once more. One that fails, or is killed twice, is a line
    with its state and traceback, and the others go on; a campaign that needs all begins no more,
    and waits for those that run.
    """
    # now, as the journal may have grown by a command that this one has waited for
    lines = campaign.finished(options)
    try:
        _compute_missing(campaign, options, lines)
        digest = campaign.present_digests()
        for line in lines.values():
            if fault := _misread(line, digest):
                raise WorkflowError(fault)
    except (WorkflowError, OSError) as error:
        reason = str(error)
        if isinstance(error, OSError):
            reason = f"Could not write {campaign.journal}: {error.strerror or error}."
        number = sum(line["state"] != "killed" for line in lines.values())
        raise WorkflowError(
            f"{reason}\n{number} of {len(campaign.points)} tasks are finished and kept: fix it and "
            "run the same command again."
        ) from error
    return [lines[point.key] for point in campaign.points]


def _compute_missing(campaign: Campaign, options: Options, lines: dict[str, Line]) -> None:
    """Run the tasks without a line, and add their lines as they end."""
    points = {point.key: point for point in campaign.points}
    missing = [point for key, point in points.items() if key not in lines]
    states = Counter(kept=len(lines), done=0, failed=0, killed=0)
    faults: list[str] = []

    def report(workers: int) -> None:
        left = len(points) - states.total()
        running = min(workers, left)
        options.report({**states, "running": running, "waiting": left - running})

    report(0)
    if not missing:
        return
    tasks = [
        replace(point, call=partial(point.call, place=campaign.folder(point))) for point in missing
    ]
    note_once = cache(options.note)  # all tasks may have the same to say
    running = executor_for(len(tasks), options.jobs, options.scheduler)
    with appended(campaign.journal) as journal, running as executor:
        report(executor.workers())
        for point, outcome in as_completed(executor, tasks, options.note, lambda: bool(faults)):
            if fault := _fault(campaign, point.overrides, outcome):
                faults.append(fault)
                continue
            for text in outcome.pop("notes", ()):
                note_once(text)
            line = lines[point.key] = _keep(campaign, point, outcome, journal)
            if line["state"] != "done":
                shown = ", ".join(f"{name} = {v!r}" for name, v in line["parameters"].items())
                options.note(f"A run {line['state']}: {shown}: {line['error']}")
            states[line["state"]] += 1
            report(executor.workers())
    if faults:
        raise WorkflowError(faults[0])


def _fault(campaign: Campaign, parameters: dict[str, Any], outcome: Outcome) -> str:
    """Why no more tasks may begin after this outcome; empty if they may."""
    if campaign.needs_all and outcome["state"] == "failed":
        return f"The task {parameters} failed: {outcome['error']}\n{outcome['traceback']}"
    if outcome["state"] == "rejected" or (campaign.needs_all and outcome["state"] == "killed"):
        return str(outcome["error"])
    return _misread(outcome, campaign.present_digests())


def _misread(outcome: Outcome, digest: Callable[[str], str]) -> str:
    """The sentence on data files that a task has read with another content than they have now."""
    if not (changed := changed_inputs(digest, outcome["read"])):
        return ""
    return (
        f"A task on {outcome['host']} has read {', '.join(changed)} with another content than it "
        "has here now. If you have edited it meanwhile, run the same command again; else copy "
        "the files of here there."
    )


def _keep(campaign: Campaign, point: Point, outcome: Outcome, journal: TextIO) -> Line:
    """The line of a task, when it is in the journal. One that was killed is only reported: the next
    command tries it again.
    """
    for name in ("error", "traceback"):  # what an exception says may hold what no file can
        outcome[name] = outcome[name].encode(errors="backslashreplace").decode()
    line = {"key": point.key, "parameters": point.parameters, **outcome}
    if line["state"] != "killed":
        line = append(journal, line)
    if line["state"] == "done":
        shutil.rmtree(campaign.folder(point), ignore_errors=True)
    return line


def _misfit(line: Line, digest: Callable[[str], str], *, elsewhere: bool) -> str:
    """Why a line cannot be used now; empty if it can."""
    if line["checksum"] != checksum(line):
        return "does not match its own checksum: it was edited or damaged"
    if not elsewhere and line["hardware"] != hardware():
        return f"was made on another machine ({hardware_line(line['hardware'])})"
    if changed := changed_inputs(digest, line["read"]):
        return f"was made with another content of {', '.join(changed)}"
    used = line.get("libraries", {})
    now = library_states(used)
    others = [name for name in used if used[name] != now.get(name)]
    return f"was made with another version of {', '.join(others)}" if others else ""


def read_journal(path: Path) -> Iterator[Line]:
    """The lines of a journal in order; one that was cut short by a kill, or that no record can
    hold, is left out.
    """
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                data = as_json(json.loads(line))
            except (ValueError, RecursionError):
                continue
            if isinstance(data, dict) and set(data) >= FIELDS:
                yield data


def appended(path: Path) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a", encoding="utf-8")


def append(journal: TextIO, line: Line) -> Line:
    """Write a line with its checksum, and return it when it is on the disk. Raises OSError if it
    cannot be.
    """
    sealed = {**line, "checksum": checksum(line)}
    # the line break comes first: a line that was cut short spoils no other
    journal.write("\n" + json.dumps(sealed))
    journal.flush()
    os.fsync(journal.fileno())
    return sealed
