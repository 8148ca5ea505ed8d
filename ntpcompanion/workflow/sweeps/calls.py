"""Calls made one for each point of a grid: what they are, what became of them, and the engines that
make them: threads of this process, each of which waits for a process of its own, or a cluster.
"""

import contextlib
import queue
import socket
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import psutil

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.processes import Lifeline
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import Hardware, hardware, usable_cores

MEMORY = 2 * 2**30  # bytes for a task: numerical libraries and a small model
ASK = 2.0  # seconds after which a cluster is asked whether its workers are still there
ATTEMPTS = 2  # of a call whose process is killed
ADVICE = (
    "If you have edited something meanwhile, run the same command again; else install this version "
    "there, and start the worker again."
)
KILLED = "A process of the sweep was killed; the machine may be out of memory."


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a function of a module, which returns what JSON can hold. `parameters` are what
    a message names it by, and what is kept with its result. The function takes an argument
    `lifeline`, which the processes that it starts must not outlive; None on a cluster.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What became of a call: `state` is `"done"`, `"failed"` (it raised), `"killed"` (its process
    ended) or `"rejected"` (by a worker with other sources).

    `result` is what was returned; `error` is one line and `traceback` all of them; `read` are the
    digests of the data files that a task which failed had read; `seconds` is the time of computing
    on `host`, a machine with that `hardware`.
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


@runtime_checkable
class Engine(Protocol):
    """What makes calls, and `where`; with no window it has a queue of its own."""

    where: str

    @property
    def window(self) -> int | None:
        """How many calls may have begun without an outcome that was given back."""

    def submit(self, call: Call) -> "Future[Any]":
        """Make a call, whose outcome a future will have."""

    def outcome(self, future: "Future[Any]") -> Outcome:
        """What became of a call that has ended."""

    def number(self) -> int:
        """How many calls it can make at once now."""

    def look(self, note: Callable[[str], None]) -> None:
        """Raise WorkflowError if nobody is left who could make a call."""

    def drop(self, futures: Sequence["Future[Any]"]) -> None:
        """Cancel those of the futures whose calls have not begun."""


class Threads:
    """An engine on this machine: each thread waits for the processes that its call starts."""

    where = "this machine"

    def __init__(self, jobs: int) -> None:
        self.window, self._lifeline = jobs, Lifeline()
        self._pool = ThreadPoolExecutor(jobs, "task")

    def submit(self, call: Call) -> "Future[Any]":
        """Make a call in a thread."""
        return self._pool.submit(make, call, self._lifeline)

    def outcome(self, future: "Future[Any]") -> Outcome:
        """What its thread has returned."""
        return Outcome(**future.result())

    def number(self) -> int:
        """As many as there are threads."""
        return self.window

    def look(self, note: Callable[[str], None]) -> None:
        """A thread of this process is there."""

    def drop(self, futures: Sequence["Future[Any]"]) -> None:
        """No call waits: `window` are made at once."""

    def __enter__(self) -> "Threads":
        return self

    def __exit__(self, *_: object) -> None:
        """End what runs: what has ended is on disk, and nobody waits for the rest."""
        self._lifeline.cut()
        self._pool.shutdown(cancel_futures=True)
        self._lifeline.stdin.close()


@contextlib.contextmanager
def engine(
    tasks: int, *, jobs: int | None, project: Project, scheduler: str | None
) -> Iterator[Engine]:
    """What makes a number of calls: the cluster of the scheduler at an address, or `jobs` processes
    of this machine (None: as cores and memory allow).

    Raises
    ------
    WorkflowError
        a scheduler that does not answer, or whose workers would give other numbers; no Dask, or
        settings of it that cannot be read.
    """
    if scheduler is None:
        with Threads(max(1, min(jobs or fitting_jobs(), tasks))) as threads:
            yield threads
    else:
        # imported late: Dask takes a second, reads its settings, and may not be installed
        try:
            from ntpcompanion.workflow.sweeps.cluster import cluster_at
        except ImportError as error:
            raise WorkflowError(
                f"`--scheduler {scheduler}` needs Dask ({error}). Install the extra `cluster`: "
                "pip install 'ntpcompanion[cluster]'."
            ) from error
        except ValueError as error:
            raise WorkflowError(
                f"The user's settings of Dask cannot be read: {error}. Correct or remove them."
            ) from error
        with cluster_at(scheduler, project) as cluster:
            yield cluster


def fitting_jobs() -> int:
    """As many tasks at once as this machine has cores and memory for, at least one."""
    return max(1, min(usable_cores(), psutil.virtual_memory().available // MEMORY))


def require_jobs(jobs: int | None) -> None:
    """Raises WorkflowError for fewer than one process."""
    if jobs is not None and jobs < 1:
        raise WorkflowError(f"`--jobs` must be at least 1, got {jobs}.")


class Calls:
    """An iterator over calls and their outcomes, as they end.

    A call whose process was killed is made once more, after `note` was given a sentence. Where the
    engine has a window, a call begins only when an outcome has been given back and the next is
    asked for: what has been finished cannot be lost by a kill, and is never made again.

    Raises
    ------
    WorkflowError
        while iterating: the connection to a cluster is lost, or nobody is left there.
    """

    def __init__(
        self,
        engine: Engine,
        calls: Sequence[Call],
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._engine, self._note, self._stopped = engine, note, False
        self._waiting = deque((call, 1) for call in calls)
        self._running: dict[Future[Any], tuple[Call, int]] = {}
        self._ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()

    def __iter__(self) -> Iterator[tuple[Call, Outcome]]:
        self._engine.look(self._note)
        self._fill()
        while self._running:
            future = self._next()
            call, attempt = self._running.pop(future)
            if not future.cancelled():
                outcome = self._engine.outcome(future)
                if outcome.state == "killed" and attempt < ATTEMPTS:
                    self._note(f"{outcome.error} Its task {call.parameters} is tried once more.")
                    self._waiting.appendleft((call, attempt + 1))
                else:
                    yield call, outcome
            self._fill()

    def stop(self) -> None:
        """Begin no more of them; what runs may end."""
        self._stopped = True
        self._engine.drop(list(self._running))

    def _next(self) -> "Future[Any]":
        """The next that has ended; meanwhile the engine is watched."""
        while True:
            with contextlib.suppress(queue.Empty):
                return self._ended.get(timeout=ASK)
            self._engine.look(self._note)

    def _fill(self) -> None:
        window = self._engine.window
        while (
            self._waiting and not self._stopped and (window is None or len(self._running) < window)
        ):
            call, attempt = self._waiting.popleft()
            future = self._engine.submit(call)
            self._running[future] = call, attempt
            future.add_done_callback(self._ended.put)


def make(call: Call, lifeline: Lifeline | None) -> dict[str, Any]:
    """Make a call; the fields of its outcome. Whatever is raised comes back as text: its class may
    be unknown to whoever asked.
    """
    began, host = time.perf_counter(), socket.gethostname()
    fields: dict[str, Any]
    try:
        fields = {"state": "done", "result": call.function(*call.arguments, lifeline=lifeline)}
    except NotDone as error:
        fields = error.fields
    except WorkflowError as error:  # a sentence, and below it the traceback of a cell
        fields = {"state": "failed", "error": str(error), "traceback": str(error)}
    except BaseException as error:  # SystemExit too: it would end a worker
        fields = {
            "state": "failed",
            "error": f"{type(error).__name__}: {error}",
            "traceback": traceback.format_exc(),
        }
    if fields["state"] == "rejected":
        fields["error"] = f"The worker on {host} {fields['error']}. {ADVICE}"
    elif fields["state"] == "failed" and fields["error"] == fields["traceback"]:
        fields["error"] = fields["error"].partition("\n")[0]
    seconds = round(time.perf_counter() - began, 3)
    return {**fields, "seconds": seconds, "host": host, "hardware": hardware()}
