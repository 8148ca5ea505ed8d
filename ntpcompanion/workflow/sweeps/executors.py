"""Where tasks run: processes of this machine, each awaited by a thread, or a cluster of Dask. Both
are executors of `concurrent.futures`, with what a campaign asks of them besides.
"""

import contextlib
import math
import queue
import socket
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import psutil

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.processes import Lifeline
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import Hardware, hardware, usable_cores

Note = Callable[[str], None]
MEMORY = 2 * 2**30  # bytes for a task: numerical libraries and a small model
ASK = 2.0  # seconds after which a cluster is asked whether its workers are still there
ATTEMPTS = 2  # of a task whose process is killed
KILLED = "A process of the sweep was killed; the machine may be out of memory."


@dataclass(frozen=True, eq=False)
class Task:
    """A call for one point of a grid, named by its `key`, and in messages by its `parameters`.

    `call` takes an argument `lifeline`, which the processes that it starts must not outlive (None
    on a cluster), and returns the fields `result`, `read`, `notes` and `page` of an `Outcome`.
    """

    key: str
    parameters: dict[str, Any]
    call: Callable[..., dict[str, Any]]


@dataclass(frozen=True)
class Outcome:
    """What became of a task: `state` is `"done"`, `"failed"` (it raised), `"killed"` (its process
    ended) or `"rejected"` (by a worker with other sources).

    `result` is what JSON can hold; `read` are the digests of the data files that it has read,
    `notes` are for the user, `page` is the text of an executed notebook. `error` is one line and
    `traceback` all of them; `seconds` is the time of computing on `host`, a machine with that
    `hardware`.
    """

    state: str
    result: Any = None
    read: dict[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    page: str | None = None
    error: str = ""
    traceback: str = ""
    seconds: float = 0.0
    host: str = ""
    hardware: Hardware | None = None


class NotDone(Exception):
    """Raised by a task that knows what became of it: the fields of an `Outcome`. The error of one
    that was rejected goes on after "The worker on HOST".
    """

    def __init__(self, **fields: Any) -> None:
        super().__init__(fields["error"])
        self.fields = fields


@dataclass(frozen=True)
class Executor:
    """What runs tasks.

    Fields
    ------
    submit
        begins a task, or queues it; its future has the fields of an `Outcome`.
    workers
        how many tasks can run at once now.
    window
        how many tasks may be submitted whose outcome was not given back; infinite where the
        executor has a queue of its own.
    outcome
        that of a future that has ended.
    check
        raises WorkflowError if nobody is left who could run a task.
    drop
        cancels those of the futures whose tasks have not begun.
    """

    submit: Callable[[Task], Any]  # a future of `concurrent.futures`, or one like it
    workers: Callable[[], int]
    window: float = math.inf
    outcome: Callable[["Future[Any]"], Outcome] = lambda future: Outcome(**future.result())
    check: Callable[[Note], None] = lambda _: None
    drop: Callable[[Sequence["Future[Any]"]], None] = lambda _: None


@contextlib.contextmanager
def processes(jobs: int) -> Iterator[Executor]:
    """An executor on this machine: each of `jobs` threads waits for the process that its task
    starts. At the end what still runs is ended: what was finished is on disk.
    """
    with Lifeline() as lifeline:
        pool = ThreadPoolExecutor(jobs, "task")
        try:
            yield Executor(lambda task: pool.submit(make, task, lifeline), lambda: jobs, jobs)
        finally:
            lifeline.cut()
            pool.shutdown(cancel_futures=True)


def executor_for(
    tasks: int, *, jobs: int | None, project: Project, scheduler: str | None
) -> contextlib.AbstractContextManager[Executor]:
    """What runs a number of tasks: the cluster of the scheduler at an address, or `jobs` processes
    of this machine (None: as cores and memory allow).

    Raises
    ------
    WorkflowError
        a scheduler that does not answer, or whose workers would give other numbers; no Dask, or
        settings of it that cannot be read.
    """
    if scheduler is None:
        return processes(min(jobs or fitting_jobs(), tasks))
    # imported late: Dask takes a second, reads its settings, and may not be installed
    try:
        from ntpcompanion.workflow.sweeps.cluster import cluster_at
    except ImportError as error:
        raise WorkflowError(
            f"`--scheduler {scheduler}` needs Dask ({error}). Install the extra `cluster`: pip "
            "install 'ntpcompanion[cluster]'."
        ) from error
    except ValueError as error:
        raise WorkflowError(
            f"The user's settings of Dask cannot be read: {error}. Correct or remove them."
        ) from error
    return cluster_at(scheduler, project)


def fitting_jobs() -> int:
    """As many tasks at once as this machine has cores and memory for, at least one."""
    return max(1, min(usable_cores(), psutil.virtual_memory().available // MEMORY))


def require_jobs(jobs: int | None) -> None:
    """Raises WorkflowError for fewer than one process."""
    if jobs is not None and jobs < 1:
        raise WorkflowError(f"`--jobs` must be at least 1, got {jobs}.")


def as_completed(
    executor: Executor,
    tasks: Sequence[Task],
    note: Note = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[Task, Outcome]]:
    """Tasks and their outcomes, as they end.

    A task whose process was killed is tried once more, after `note` was given a sentence. Within a
    window a task begins only when an outcome has been given back and the next is asked for: what
    has been finished cannot be lost by a kill, and is never made again. Once `stopped()`, no more
    begin, and those that run may end.

    Raises
    ------
    WorkflowError
        the connection to a cluster is lost, or nobody is left there.
    """
    waiting = deque((task, 1) for task in tasks)
    running: dict[Future[Any], tuple[Task, int]] = {}
    ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
    executor.check(note)
    while True:
        if stopped():
            waiting.clear()
            executor.drop(list(running))
        while waiting and len(running) < executor.window:
            task, attempt = waiting.popleft()
            future = executor.submit(task)
            running[future] = task, attempt
            future.add_done_callback(ended.put)
        if not running:
            return
        try:
            future = ended.get(timeout=ASK)
        except queue.Empty:
            executor.check(note)
            continue
        task, attempt = running.pop(future)
        if future.cancelled():
            continue
        outcome = executor.outcome(future)
        if outcome.state == "killed" and attempt < ATTEMPTS:
            note(f"{outcome.error} Its task {task.parameters} is tried once more.")
            waiting.appendleft((task, attempt + 1))
        else:
            yield task, outcome


def make(task: Task, lifeline: Lifeline | None) -> dict[str, Any]:
    """Run a task; the fields of its outcome. Whatever is raised comes back as text: its class may
    be unknown to whoever asked.
    """
    began, host = time.perf_counter(), socket.gethostname()
    fields: dict[str, Any]
    try:
        fields = {"state": "done", **task.call(lifeline=lifeline)}
    except NotDone as error:
        fields = error.fields
    except WorkflowError as error:  # a sentence, and below it the traceback of a cell
        first = str(error).partition("\n")[0]
        fields = {"state": "failed", "error": first, "traceback": str(error)}
    except BaseException as error:  # SystemExit too: it would end a worker
        fault = f"{type(error).__name__}: {error}"
        fields = {"state": "failed", "error": fault, "traceback": traceback.format_exc()}
    if fields["state"] == "rejected":
        fields["error"] = (
            f"The worker on {host} {fields['error']}. If you have edited something meanwhile, run "
            "the same command again; else install this version there, and start the worker again."
        )
    seconds = round(time.perf_counter() - began, 3)
    return {**fields, "seconds": seconds, "host": host, "hardware": hardware()}
