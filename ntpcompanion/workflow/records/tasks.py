"""One function over many parameter sets: in processes of a cluster, each result on disk before the
next is waited for.
"""

import contextlib
import importlib
import inspect
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import as_json, canonical_json, sha256
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.records.journal import append, appended, read_journal
from ntpcompanion.workflow.records.preparation import digest, environment, environment_at_first

if TYPE_CHECKING:
    from distributed import Future

    from ntpcompanion.workflow.records.cluster import Workers


@dataclass(frozen=True)
class Call:
    """One call of `function`, `"package.module:name"`. A function that takes an argument
    `checkpoint` is given the folder of that name, to resume within a task.
    """

    function: str
    arguments: dict[str, Any]
    checkpoint: str


@dataclass(frozen=True)
class Outcome:
    """What became of a call: `state` is `"done"`, `"failed"` (it raised), `"killed"` (its process
    ended) or `"refused"` (by a worker with other sources).

    `result` is what JSON gives back of what was returned; `error` is one line and `traceback` all
    of them; `seconds` is the time of computing on `host`.
    """

    state: str
    result: Any = None
    error: str = ""
    traceback: str = ""
    seconds: float = 0.0
    host: str = ""


def resolve_function(path: str) -> Callable:
    """The function behind `"package.module:name"`."""
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise WorkflowError(
            f"`function: {path}` names no function of the form package.module:name ({error})."
        ) from error


def opened_files(log: Path) -> Path:
    """Where the processes that work for a log write down the project's files that they open;
    `kernel.read_log` reads it.
    """
    return log.with_suffix(".opened")


@contextlib.contextmanager
def workers(
    log: Path, *, jobs: int | None, project: Project | None, scheduler: str | None, tasks: int
) -> Iterator["Workers"]:
    """Processes for a number of tasks whose finished ones are kept in `log`: those of the scheduler
    at an address, or of a local cluster of `jobs` (None: as cores and memory allow).
    """
    from ntpcompanion.workflow.records import cluster

    if scheduler is None:
        number = max(1, min(jobs or cluster.fitting_jobs(), tasks))
        with cluster.local_workers(number, project, opened_files(log)) as found:
            yield found
    else:
        own = project.package.name if project else "ntpcompanion"
        packages = tuple(dict.fromkeys(["ntpcompanion", own]))
        with cluster.existing_workers(scheduler, packages) as found:
            yield found


def require_jobs(jobs: int | None) -> None:
    """Raises WorkflowError for fewer than one process."""
    if jobs is not None and jobs < 1:
        raise WorkflowError(f"`--jobs` must be at least 1, got {jobs}.")


class Calls:
    """Calls on their way: iterate for what becomes of each, in the order in which they end. A call
    that ends its process is made again as often as `workers.attempts` says; `note` is told in a
    sentence.

    Raises
    ------
    WorkflowError
        while iterating: the connection to the cluster is lost.
    """

    def __init__(
        self,
        workers: "Workers",
        calls: Sequence[Call],
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        from distributed import as_completed

        self._workers, self._note = workers, note
        self._running = self._submitted([(call, 1) for call in calls])
        self._queue = as_completed(list(self._running))

    def __iter__(self) -> Iterator[tuple[Call, Outcome]]:
        for future in self._queue:
            call, attempt = self._running.pop(future)
            if future.cancelled() and self._stopped:
                continue
            outcome = _outcome(future, self._workers)
            if outcome.state != "killed" or attempt == self._workers.attempts or self._stopped:
                yield call, outcome
                continue
            self._note(f"{outcome.error} Its task {call.arguments} is tried once more.")
            again = self._submitted([(call, attempt + 1)])
            self._running |= again
            self._queue.update(list(again))

    def stop(self) -> None:
        """Begin no more of them; what runs may end."""
        self._stopped = True
        client, left = self._workers.client, list(self._running)
        begun = {key for keys in client.processing().values() for key in keys}
        # asked for second: what has ended meanwhile is kept
        begun |= {key for key, holders in client.who_has(left).items() if holders}
        client.cancel([future for future in left if future.key not in begun])

    _stopped = False

    def _submitted(self, calls: Sequence[tuple[Call, int]]) -> dict["Future", tuple[Call, int]]:
        expected = (self._workers.packages, self._workers.expected)
        wanted = [call for call, _ in calls]
        futures = self._workers.client.map(_make, wanted, expected=expected, pure=False)
        return dict(zip(futures, calls, strict=True))


def _outcome(future: "Future", workers: "Workers") -> Outcome:
    from distributed import KilledWorker

    try:
        return Outcome(**future.result())
    except KilledWorker:
        said = "A process of the sweep was killed; the machine may be out of memory."
        return Outcome("killed", error=said, traceback=said)
    except Exception as error:
        # what a task raises comes as an outcome: this is the cluster's
        raise WorkflowError(
            f"The cluster on {workers.where} was lost ({type(error).__name__}: {error})."
        ) from error


def _make(call: Call, expected: tuple[tuple[str, ...], str]) -> dict[str, Any]:
    """Run by a worker. Whatever is raised comes back as text: its class may be unknown to whoever
    asked.
    """
    began, host = time.perf_counter(), socket.gethostname()
    try:
        _require(expected, first=True)
        result = _called(call)
        _require(expected, first=False)
        found = {"state": "done", "result": result}
    except _OtherSources as error:
        found = {"state": "refused", "error": f"The worker on {host} {error}"}
    except BaseException as error:  # SystemExit too: it would end the worker
        found = {
            "state": "failed",
            "error": f"{type(error).__name__}: {error}",
            "traceback": traceback.format_exc(),
        }
    return {**found, "seconds": round(time.perf_counter() - began, 3), "host": host}


class _OtherSources(Exception):
    pass


def _require(expected: tuple[tuple[str, ...], str], *, first: bool) -> None:
    packages, wanted = expected
    if wanted and digest((environment_at_first if first else environment)(packages)) != wanted:
        raise _OtherSources(
            "has other versions of "
            f"{', '.join(packages)} or of the numeric libraries. Install this version there, and "
            "start it again."
        )


def _called(call: Call) -> object:
    function = resolve_function(call.function)
    extra = {}
    if "checkpoint" in inspect.signature(function).parameters:
        extra["checkpoint"] = Path(call.checkpoint)
        extra["checkpoint"].mkdir(parents=True, exist_ok=True)
    returned = function(**call.arguments, **extra)
    try:
        return as_json(returned)
    except ValueError as error:
        raise ValueError(
            f"what it returned cannot be kept. {error}. Return numbers that are finite, texts, "
            "lists and dicts of them"
        ) from error


def _kept(calls: Calls, journal: TextIO) -> Iterator[dict]:
    """Each result, when it is on the disk. After one that failed no more are begun."""
    failure = None
    for call, outcome in calls:
        if outcome.state == "done":
            line = {
                "parameters": call.arguments,
                "result": outcome.result,
                "seconds": outcome.seconds,
            }
            append(journal, line)
            yield line
        elif failure is None:
            calls.stop()
            failure = f"{outcome.error}\n{outcome.traceback}" if outcome.state == "failed" else ""
            failure = f"The task {call.arguments} failed: {failure}" if failure else outcome.error
    if failure:
        raise WorkflowError(failure)


def run_tasks(
    function: str,
    tasks: list[dict],
    log: Path,
    *,
    jobs: int | None = None,
    report: Callable[[int, int], None] | None = None,
    note: Callable[[str], None] = lambda _: None,
    project: Project | None = None,
    scheduler: str | None = None,
) -> list[dict]:
    """Results of all tasks in order, `{"parameters", "result", "seconds"}`; those that `log`
    already holds are not run again.

    A finished task is a line of `log`, flushed to disk; a line cut short by a kill is dropped. A
    function that takes an argument `checkpoint` is given a folder of its own, kept until the record
    is written, to resume within a task. A task fails if what it returns cannot be written as JSON;
    a result is what JSON gives back, with lists for tuples, whether it was read from `log` or not.
    A task whose process is killed is tried once more, after a word by `note`. With `project` the
    processes have its clean environment, load its modules from their sources, and write down what
    they open there: see `opened_files`. With `scheduler` they are those of a cluster of Dask that
    is already there.

    Raises
    ------
    WorkflowError
        fewer jobs than one, a function that does not exist, a task that failed (the others are
        kept), a log that cannot be written, a machine on which processes cannot share locks, a
        scheduler that does not answer, a worker with other sources.
    """
    require_jobs(jobs)
    resolve_function(function)
    done = {canonical_json(line["parameters"]): line for line in read_journal(log)}
    todo = [task for task in tasks if canonical_json(task) not in done]
    tell = report or (lambda *_: None)
    tell(len(tasks) - len(todo), len(tasks))
    calls = [
        Call(function, task, str(log.with_suffix("") / sha256(canonical_json(task))[:12]))
        for task in todo
    ]
    where = {"jobs": jobs, "project": project, "scheduler": scheduler, "tasks": len(todo)}
    try:
        if todo:
            with workers(log, **where) as found, appended(log) as journal:
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
