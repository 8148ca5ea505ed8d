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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import psutil

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.processes import Lifeline
from ntpcompanion.workflow.base.provenance import hardware, usable_cores

if TYPE_CHECKING:
    from ntpcompanion.workflow.sweeps.targets import Point

# What became of a task: its `state` is "done", "failed" (it raised), "killed" (its process ended)
# or "rejected" (by a worker with other sources). `read` are the digests of the data files that it
# has read, `notes` are for the user. `error` is one
# line and `traceback` all of them; `seconds` is the time of computing on `host`, a machine with
# that `hardware`.
Outcome = dict[str, Any]
# what a task has not to say; without one, a task has no `result`
SILENT: Outcome = {"result": None, "read": {}, "error": "", "traceback": ""}
Call = Callable[..., Outcome]
Note = Callable[[str], None]
MEMORY = 2 * 2**30  # bytes for a task: numerical libraries and a small model
ASK = 2.0  # seconds after which a cluster is asked whether its workers are still there
ATTEMPTS = 2  # of a task whose process is killed
KILLED = "A process of the sweep was killed; the machine may be out of memory."


class NotDone(Exception):
    """Raised by a task that knows its outcome. The error of one that was rejected goes on after
    "The worker on HOST".
    """

    def __init__(self, **outcome: Any) -> None:
        super().__init__(outcome["error"])
        self.outcome = outcome


@dataclass(frozen=True)
class Executor:
    """What runs tasks: `submit` begins one, or queues it, of which `workers()` can run at once and
    `window` may be submitted. `outcome` is that of a future that has ended, `check` raises
    WorkflowError if nobody is left who could run a task, and `drop` cancels those of the futures
    whose tasks have not begun.
    """

    submit: Callable[[Call], Any]  # a future of `concurrent.futures`, or one like it
    workers: Callable[[], int]
    window: float = math.inf
    outcome: Callable[["Future[Any]"], Outcome] = lambda future: future.result()
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
            yield Executor(lambda call: pool.submit(outcome_of, call, lifeline), lambda: jobs, jobs)
        finally:
            lifeline.cut()
            pool.shutdown(cancel_futures=True)


def executor_for(
    tasks: int, jobs: int | None, scheduler: str | None
) -> contextlib.AbstractContextManager[Executor]:
    """What runs a number of tasks: the cluster of the scheduler at an address, or `jobs` processes
    of this machine (None: as cores and memory allow).
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
    return cluster_at(scheduler)


def fitting_jobs() -> int:
    """As many tasks at once as this machine has cores and memory for, at least one."""
    return max(1, min(usable_cores(), psutil.virtual_memory().available // MEMORY))


def as_completed(
    executor: Executor,
    tasks: Sequence["Point"],
    note: Note = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[tuple["Point", Outcome]]:
    """Tasks and their outcomes, as they end.

    A task whose process was killed is tried once more, after `note` was given a sentence. Within a
    window a task begins only when an outcome has been given back and the next is asked for: what
    has been finished cannot be lost by a kill, and is never made again. Once `stopped()`, no more
    begin, and those that run may end.
    """
    waiting = deque((task, 1) for task in tasks)
    running: dict[Future[Any], tuple[Point, int]] = {}
    ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
    executor.check(note)
    while True:
        if stopped():
            waiting.clear()
            executor.drop(list(running))
        while waiting and len(running) < executor.window:
            task, attempt = waiting.popleft()
            future = executor.submit(task.call)
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
        if outcome["state"] == "killed" and attempt < ATTEMPTS:
            note(f"{outcome['error']} Its task {task.overrides} is tried once more.")
            waiting.appendleft((task, attempt + 1))
        else:
            yield task, outcome


def outcome_of(call: Call, lifeline: Lifeline | None) -> Outcome:
    """Run a task. Whatever is raised comes back as text: whoever asked may not know its class."""
    began, host = time.perf_counter(), socket.gethostname()
    try:
        outcome = {"state": "done", **call(lifeline=lifeline)}
    except NotDone as error:
        outcome = error.outcome
    except WorkflowError as error:  # a sentence, and below it the traceback of a cell
        first = str(error).partition("\n")[0]
        outcome = {"state": "failed", "error": first, "traceback": str(error)}
    except BaseException as error:  # SystemExit too: it would end a worker
        fault = f"{type(error).__name__}: {error}"
        outcome = {"state": "failed", "error": fault, "traceback": traceback.format_exc()}
    if outcome["state"] == "rejected":
        outcome["error"] = (
            f"The worker on {host} {outcome['error']}. If you have edited something meanwhile, run "
            "the same command again; else install this version there, and start the worker again."
        )
    seconds = round(time.perf_counter() - began, 3)
    return {**SILENT, **outcome, "seconds": seconds, "host": host, "hardware": hardware()}
