"""Calls made by processes of a cluster: sent, made again after a kill, given back as they end."""

import contextlib
import queue
import socket
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import psutil

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import Hardware, hardware, usable_cores
from ntpcompanion.workflow.sweeps.preparation import (
    Asked,
    asked_of,
    digest,
    environment,
    environment_at_first,
)
from ntpcompanion.workflow.sweeps.watch import Watch

if TYPE_CHECKING:
    from distributed import Future

    from ntpcompanion.workflow.sweeps.cluster import Workers


MEMORY = 2 * 2**30  # bytes for a task: numerical libraries and a small model
PATIENCE = 60  # seconds until a process that was killed has been replaced
ASK = 2.0  # seconds after which a cluster is asked whether its workers are still there
ADVICE = (
    "If you have edited something meanwhile, run the same command again; else install this version "
    "there, and start the worker again."
)
KILLED = "A process of the sweep was killed; the machine may be out of memory."
Expected = tuple[Asked, str]  # what a worker is asked for, and the digest of its answer


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a function of a module, which returns what JSON can hold. `parameters` are what
    a message names it by, and what is kept with its result.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What became of a call: `state` is `"done"`, `"failed"` (it raised), `"killed"` (its process
    ended) or `"rejected"` (by a worker with other sources).

    `result` is what was returned; `error` is one line and `traceback` all
    of them; `read` are the digests of the data files that a task which failed had read; `seconds`
    is the time of computing on `host`, a machine with that `hardware`.
    """

    state: str
    result: Any = None
    error: str = ""
    traceback: str = ""
    read: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    host: str = ""
    hardware: Hardware | None = None


class NotDone(Exception):
    """Raised by a call that knows what became of it: the fields of an `Outcome`. The error of one
    that was rejected goes on after "The worker on HOST".
    """

    def __init__(self, **fields: Any) -> None:
        super().__init__(fields["error"])
        self.fields = fields


@contextlib.contextmanager
def workers(
    log: Path, tasks: int, *, jobs: int | None, project: Project, scheduler: str | None
) -> Iterator["Workers"]:
    """Processes for a number of tasks whose finished ones are kept in `log`: those of the scheduler
    at an address, or of a local cluster of `jobs` (None: as cores and memory allow).
    """
    cluster = _cluster_module()
    if scheduler is None:
        number = max(1, min(jobs or fitting_jobs(), tasks))
        with cluster.local_workers(number, project, log.with_suffix(".dask")) as pool:
            yield pool
    else:
        with cluster.existing_workers(scheduler, asked_of(project)) as pool:
            yield pool


def fitting_jobs() -> int:
    """As many tasks at once as this machine has cores and memory for, at least one."""
    return max(1, min(usable_cores(), psutil.virtual_memory().available // MEMORY))


def require_jobs(jobs: int | None) -> None:
    """Raises WorkflowError for fewer than one process."""
    if jobs is not None and jobs < 1:
        raise WorkflowError(f"`--jobs` must be at least 1, got {jobs}.")


class Calls:
    """Calls on their way: iterate for what becomes of each, in the order in which they end. A call
    that ends its process is made again as often as `workers.attempts` says; `note` is told in a
    sentence.

    Where `workers.window` says so, a worker begins a call only when the outcome of its last one has
    been given back and the next is asked for: what it has finished cannot be lost with it, and is
    never made again.

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
        self._workers, self._note = workers, note
        self._waiting = deque((call, 1) for call in calls)
        self._running: dict[Future[Any], tuple[Call, int, str]] = {}  # the last: at which worker
        self._ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._watch = Watch(workers.client, workers.where, note)

    def __iter__(self) -> Iterator[tuple[Call, Outcome]]:
        self._watch_others()
        self._fill()
        while self._running:
            future = self._next()
            call, attempt, _ = self._running.pop(future)
            if not (future.cancelled() and self._stopped):
                outcome = _outcome(future, self._workers)
                if outcome.state == "killed" and attempt < self._workers.attempts:
                    self._note(f"{outcome.error} Its task {call.parameters} is tried once more.")
                    self._waiting.appendleft((call, attempt + 1))
                else:
                    yield call, outcome
            future.release()  # what nobody waits for is not computed again when its worker ends
            self._fill()

    def _next(self) -> "Future[Any]":
        """The next that has ended; meanwhile a cluster of others is watched."""
        while True:
            with contextlib.suppress(queue.Empty):
                return self._ended.get(timeout=ASK)
            self._watch_others()

    def _watch_others(self) -> None:
        if self._workers.window is None:
            self._watch.look()

    def stop(self) -> None:
        """Begin no more of them; what runs may end."""
        self._stopped = True
        self._waiting.clear()
        client, left = self._workers.client, list(self._running)
        begun = {key for keys in client.processing().values() for key in keys}
        # asked for second: what has ended meanwhile is kept
        begun |= {key for key, holders in client.who_has(left).items() if holders}
        client.cancel([future for future in left if future.key not in begun])

    _stopped = False

    def _fill(self) -> None:
        if self._stopped:
            self._waiting.clear()
        for address in self._free():
            call, attempt = self._waiting.popleft()
            # Dask alone would choose a worker that has ended a call whose outcome is still there;
            # another may take it where this one ends before the call has come
            chosen = {"workers": address, "allow_other_workers": True} if address else {}
            expected = (self._workers.asked, self._workers.expected)
            future = self._workers.client.submit(
                _make, call, expected=expected, pure=False, **chosen
            )
            self._running[future] = call, attempt, address
            future.add_done_callback(self._ended.put)

    def _free(self) -> list[str]:
        """A worker for each call that may begin; empty names where the scheduler chooses."""
        window, number = self._workers.window, len(self._waiting)
        if window is None or not number:
            return [""] * number
        with contextlib.suppress(TimeoutError):  # one that was killed is replaced in a second
            self._workers.client.wait_for_workers(window, timeout=PATIENCE)
        busy = {address for _, _, address in self._running.values()}
        free = [address for address in self._workers.client.nthreads() if address not in busy]
        if not free and not busy:
            raise WorkflowError(
                f"No process is left on {self._workers.where}: those that were killed have not "
                f"been replaced within {PATIENCE} s. The machine may be out of memory; the same "
                "command goes on from what is finished."
            )
        return free[: min(number, window - len(self._running))]


def _outcome(future: "Future[Any]", workers: "Workers") -> Outcome:
    from distributed import KilledWorker

    try:
        return Outcome(**future.result())
    except KilledWorker:
        return Outcome("killed", error=KILLED, traceback=KILLED)
    except Exception as error:
        # what a task raises comes as an outcome: this is the cluster's
        raise WorkflowError(
            f"The cluster on {workers.where} was lost ({type(error).__name__}: {error})."
        ) from error


def _make(call: Call, expected: Expected) -> dict[str, Any]:
    """Run by a worker. Whatever is raised comes back as text: its class may be unknown to whoever
    asked.
    """
    began, host = time.perf_counter(), socket.gethostname()
    try:
        _require(expected, first=True)
        result = call.function(*call.arguments)
        _require(expected, first=False)
        outcome = {"state": "done", "result": result}
    except NotDone as error:
        outcome = error.fields
    except WorkflowError as error:  # a sentence, and below it the traceback of a cell
        outcome = {"state": "failed", "error": str(error), "traceback": str(error)}
    except BaseException as error:  # SystemExit too: it would end the worker
        outcome = {
            "state": "failed",
            "error": f"{type(error).__name__}: {error}",
            "traceback": traceback.format_exc(),
        }
    if outcome["state"] == "rejected":
        outcome["error"] = f"The worker on {host} {outcome['error']}. {ADVICE}"
    elif outcome["state"] == "failed" and outcome["error"] == outcome["traceback"]:
        outcome["error"] = outcome["error"].partition("\n")[0]
    seconds = round(time.perf_counter() - began, 3)
    return {**outcome, "seconds": seconds, "host": host, "hardware": hardware()}


def _require(expected: Expected, *, first: bool) -> None:
    asked, wanted = expected
    present = environment_at_first if first else environment
    if wanted and digest(present(asked)) != wanted:
        packages = ", ".join(asked.packages)
        raise NotDone(
            state="rejected",
            error=f"has other versions of {packages} or of the numeric libraries, or other values "
            "of the variables that tasks may read",
        )


def _cluster_module() -> "ModuleType":
    """The module that needs Dask, imported late: Dask takes a second, and reads its settings.

    Raises WorkflowError for settings of Dask that cannot be read.
    """
    try:
        from ntpcompanion.workflow.sweeps import cluster
    except ValueError as error:
        raise WorkflowError(
            f"The user's settings of Dask cannot be read: {error}. Correct or remove them."
        ) from error
    return cluster
