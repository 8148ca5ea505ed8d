"""A campaign: an experiment or a notebook at many points, each result on disk before the next is
waited for. It ends in a table (`sweep`) or in a sealed record (`records`).
"""

import functools
import shutil
import statistics
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.sweeps.executors import (
    Outcome,
    as_completed,
    executor_for,
    require_jobs,
)
from ntpcompanion.workflow.sweeps.journal import Line, append, appended, finished_lines
from ntpcompanion.workflow.sweeps.targets import Point, Target
from ntpcompanion.workflow.sweeps.task_inputs import changed_inputs, present_digests


@dataclass(frozen=True)
class Progress:
    """How far a campaign is: of `total` tasks those that ended, by state (`"kept"`: by an earlier
    command), those that run, and the seconds that are left, None where no task has been timed yet.
    """

    total: int
    ended: Mapping[str, int]
    running: int = 0
    seconds_left: float | None = None

    @property
    def finished(self) -> int:
        """Those whose outcome is known."""
        return sum(self.ended.values())


@dataclass(frozen=True)
class Options:
    """How tasks are computed; none of it moves a number.

    Fields
    ------
    jobs
        processes of this machine, one thread each; None: as many as cores and memory allow.
    scheduler
        the address of the scheduler of a cluster of Dask, whose workers run the tasks instead.
    report, note
        are given the progress, whenever it changes, and sentences for the user.
    """

    jobs: int | None = None
    scheduler: str | None = None
    report: Callable[[Progress], None] = lambda _: None
    note: Callable[[str], None] = lambda _: None


DEFAULT = Options()


@dataclass(frozen=True)
class Campaign:
    """Points that are planned and checked, and the journal in which each finished task is kept.

    `finished` are the lines of the journal that answer for some of the points, by key. With
    `notebooks` a task is not finished without its executed notebook, with `retry` not if it failed.
    With `needs_all` no task begins after one that failed.
    """

    target: Target
    points: list[Point]
    journal: Path
    notebooks: bool = False
    retry: bool = False
    needs_all: bool = False
    finished: Mapping[str, Line] = field(default_factory=dict[str, Line])

    @property
    def folder(self) -> Path:
        """Where tasks keep what they resume from, and their executed notebooks."""
        return self.journal.with_suffix("")

    def task_folder(self, point: Point) -> Path:
        """Where the task of a point keeps what it resumes from."""
        return self.folder / point.key[:16]

    def page(self, point: Point) -> Path:
        """Where the executed notebook of a point is kept."""
        return self.folder / f"{point.key[:16]}.ipynb"

    def with_finished(
        self, *, elsewhere: bool, note: Callable[[str], None] = lambda _: None
    ) -> "Campaign":
        """The same with what the journal holds now; `note` is given a sentence for each line that
        does not fit the present files or, unless a cluster runs the tasks `elsewhere`, the machine.
        """
        points, project = {point.key: point for point in self.points}, self.target.project
        lines = finished_lines(self.journal, points, project, elsewhere=elsewhere, note=note)
        finished = {key: line for key, line in lines.items() if self._answers(line, points[key])}
        return replace(self, finished=finished)

    def _answers(self, line: Line, point: Point) -> bool:
        """Whether a line of the journal is the outcome of a point."""
        if line.get("state") != "done":
            return line.get("state") == "failed" and not self.retry
        return not self.notebooks or self.page(point).is_file()


def compute(campaign: Campaign, options: Options = DEFAULT) -> list[Line]:
    """The lines of all points in their order, those of the journal and those that are made now.

    A finished task is a line of the journal, flushed to disk when the next is waited for; a line
    cut short by a kill is dropped. A line is used again for the same key and data files and, on
    this machine, the same hardware. A task whose process is killed is tried once more, after a word
    by `note`. One that fails, or is killed twice, is a line with its state and traceback, and the
    others go on; a campaign that needs all begins no more, and waits for those that run.

    Raises
    ------
    WorkflowError
        fewer jobs than one, a task that failed where all are needed, a journal that cannot be
        written, a scheduler that does not answer, a worker with other sources or data files, a data
        file that was changed meanwhile.
    """
    require_jobs(options.jobs)
    elsewhere = options.scheduler is not None
    # the journal may have grown by a command that this one has waited for
    campaign = campaign.with_finished(elsewhere=elsewhere, note=options.note)
    lines = dict(campaign.finished)
    try:
        _compute_missing(campaign, options, lines)
        _require_unchanged(campaign, lines)
    except (WorkflowError, OSError) as error:
        reason = str(error)
        if isinstance(error, OSError):
            reason = f"Could not write {campaign.journal}: {error.strerror or error}."
        number = sum(line.get("state") != "killed" for line in lines.values())
        raise WorkflowError(
            f"{reason}\n{number} of {len(campaign.points)} tasks are finished and kept: fix it and "
            "run the same command again."
        ) from error
    return [lines[point.key] for point in campaign.points]


def _compute_missing(campaign: Campaign, options: Options, lines: dict[str, Line]) -> None:
    """Run the tasks without a line, and add their lines as they end."""
    target, points = campaign.target, {point.key: point for point in campaign.points}
    tasks = [
        target.task(point, campaign.task_folder(point), campaign.notebooks)
        for key, point in points.items()
        if key not in lines
    ]
    states = Counter(kept=len(lines), done=0, failed=0, killed=0)
    faults: list[str] = []
    seconds: list[float] = []

    def report(workers: int) -> None:
        left = len(points) - states.total()
        rest = left * statistics.median(seconds) / max(workers, 1) if seconds else None
        options.report(Progress(len(points), dict(states), min(workers, left), rest))

    report(0)
    if not tasks:
        return
    note_once = functools.cache(options.note)  # all tasks may have the same to say
    running = executor_for(
        len(tasks), jobs=options.jobs, project=target.project, scheduler=options.scheduler
    )
    with appended(campaign.journal) as journal, running as executor:
        report(executor.workers())
        for task, outcome in as_completed(executor, tasks, options.note, lambda: bool(faults)):
            if fault := _fault(campaign, task.parameters, outcome):
                faults.append(fault)
                continue
            line = lines[task.key] = _keep(campaign, points[task.key], outcome, journal)
            for text in outcome.notes:
                note_once(text)
            if outcome.state != "done":
                shown = ", ".join(f"{name} = {v!r}" for name, v in line["parameters"].items())
                options.note(f"A run {outcome.state}: {shown}: {outcome.error}")
            seconds.append(outcome.seconds)
            states[outcome.state] += 1
            report(executor.workers())
    if faults:
        raise WorkflowError(faults[0])


def _fault(campaign: Campaign, parameters: dict[str, Any], outcome: Outcome) -> str:
    """Why no more tasks may begin after this outcome; empty if they may."""
    if campaign.needs_all and outcome.state == "failed":
        return f"The task {parameters} failed: {outcome.error}\n{outcome.traceback}"
    if outcome.state == "rejected" or (campaign.needs_all and outcome.state == "killed"):
        return outcome.error
    if changed := changed_inputs(present_digests(campaign.target.project), outcome.read):
        return (
            f"A task on {outcome.host} has read {', '.join(changed)} with another content than it "
            "has here now. If you have edited it meanwhile, run the same command again; else copy "
            "the files of here there."
        )
    return ""


def _keep(campaign: Campaign, point: Point, outcome: Outcome, journal: TextIO) -> Line:
    """The line of a task, when it is in the journal. One that was killed is only reported: the next
    command tries it again.
    """
    if outcome.page is not None:
        write_atomically(campaign.page(point), outcome.page)
    fields = asdict(outcome)
    del fields["notes"], fields["page"]
    line = {"key": point.key, "parameters": point.parameters, **fields}
    if outcome.state != "killed":
        line = append(journal, line)
    if outcome.state == "done":
        shutil.rmtree(campaign.task_folder(point), ignore_errors=True)
    return line


def _require_unchanged(campaign: Campaign, lines: Mapping[str, Line]) -> None:
    """Raises WorkflowError if a data file that a task has read has another content now."""
    digest = present_digests(campaign.target.project)
    read = [changed_inputs(digest, line["read"]) for line in lines.values()]
    if changed := sorted({name for names in read for name in names}):
        raise WorkflowError(
            f"{', '.join(changed)} changed while tasks that read it ran. The same command runs "
            "them again."
        )
