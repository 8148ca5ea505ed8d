"""One experiment at many points: in processes of a cluster, each result on disk before the next is
waited for.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.records.calls import Call, Calls, require_jobs, workers
from ntpcompanion.workflow.records.experiment import read_points, run_point
from ntpcompanion.workflow.records.journal import append, appended, read_journal


def _kept(calls: Calls, journal: TextIO) -> Iterator[dict[str, Any]]:
    """Each result, when it is on the disk. After one that failed no more are begun."""
    failure = None
    for call, outcome in calls:
        if outcome.state == "done":
            line = {
                "parameters": call.parameters,
                "result": outcome.result,
                "seconds": outcome.seconds,
            }
            append(journal, line)
            yield line
        elif failure is None:
            calls.stop()
            failure = f"{outcome.error}\n{outcome.traceback}" if outcome.state == "failed" else ""
            failure = f"The task {call.parameters} failed: {failure}" if failure else outcome.error
    if failure:
        raise WorkflowError(failure)


def run_tasks(
    experiment: str,
    tasks: list[dict[str, Any]],
    log: Path,
    *,
    project: Project,
    jobs: int | None = None,
    report: Callable[[int, int], None] | None = None,
    note: Callable[[str], None] = lambda _: None,
    scheduler: str | None = None,
) -> list[dict[str, Any]]:
    """Results of an experiment, named by its module, at all tasks in order, `{"parameters",
    "result", "seconds"}`; those that `log` already holds are not run again.

    All tasks are read as plans before the first is started. A finished task is a line of `log`,
    flushed to disk; a line cut short by a kill is dropped. An experiment whose `run` takes an
    argument `checkpoint` is given a folder of its own, kept until the record is written, to resume
    within a task. A task fails if its result cannot be written as JSON; a result is what JSON gives
    back, with lists for tuples, whether it was read from `log` or not.
    A task whose process is killed is tried once more, after a word by `note`. The processes have
    the clean environment of the project, load its modules from their sources, and write down what
    they open there: see `opened_files`. With `scheduler` they are those of a cluster of Dask that
    is already there.

    Raises
    ------
    WorkflowError
        fewer jobs than one, an experiment that does not exist, a task that is no plan of it or that
        failed (the others are kept), a log that cannot be written, a machine on which processes
        cannot share locks, a scheduler that does not answer, a worker with other sources.
    """
    require_jobs(jobs)
    read_points(experiment, tasks)
    done = {canonical_json(line["parameters"]): line for line in read_journal(log)}
    todo = [task for task in tasks if canonical_json(task) not in done]
    tell = report or (lambda *_: None)
    tell(len(tasks) - len(todo), len(tasks))
    folders = log.with_suffix("")
    calls = [
        Call(run_point, (experiment, task, folders / sha256(canonical_json(task))[:12]), task)
        for task in todo
    ]
    started = workers(log, len(todo), jobs=jobs, project=project, scheduler=scheduler)
    try:
        if todo:
            with appended(log) as journal, started as found:
                for line in _kept(Calls(found, calls, note), journal):
                    done[canonical_json(line["parameters"])] = line
                    tell(len(done), len(tasks))
    except (WorkflowError, OSError) as error:
        said = getattr(error, "strerror", None) or error
        reason = f"Could not write {log}: {said}." if isinstance(error, OSError) else str(error)
        raise WorkflowError(
            f"{reason}\n{len(done)} of {len(tasks)} tasks are finished and kept: mend it and run "
            "the same command again."
        ) from error
    return [done[canonical_json(task)] for task in tasks]
