"""One function over many parameter sets: in parallel processes, each result on disk before the next
is waited for.
"""

import contextlib
import importlib
import inspect
import itertools
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from pathlib import Path

from ntpcompanion.workflow.base.environment import (
    clean_environment,
    folders,
    python_path,
    started_in,
)
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import as_json, canonical_json, sha256
from ntpcompanion.workflow.base.project import ONE_THREAD, Project
from ntpcompanion.workflow.base.tracing import import_from_sources, write_down_opened_files


def grid_tasks(fixed: Mapping, grid: Mapping[str, list]) -> list[dict]:
    """Every combination of the grid's values, with the fixed ones: one task each, in the order of
    the grid.
    """
    return [
        {**fixed, **dict(zip(grid, values, strict=True))}
        for values in itertools.product(*grid.values())
    ]


def resolve_function(path: str) -> Callable:
    """The function behind `"package.module:name"`."""
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise WorkflowError(
            f"`function: {path}` names no function of the form package.module:name ({error})."
        ) from error


def run_tasks(
    function: str,
    tasks: list[dict],
    log: Path,
    *,
    jobs: int,
    report: Callable[[int, int], None] | None = None,
    project: Project | None = None,
) -> list[dict]:
    """Results of all tasks in order, `{"parameters", "result", "seconds"}`; those that `log`
    already holds are not run again.

    A finished task is a line of `log`, flushed to disk; a line cut short by a kill is dropped. A
    function that takes an argument `checkpoint` is given a folder of its own, kept until the record
    is written, to resume within a task. A task fails if what it returns cannot be written as JSON;
    a result is what JSON gives back, with lists for tuples, whether it was read from `log` or not.
    With `project` the processes have its clean environment, load its modules from their sources,
    and write down what they open there: see `opened_files`.

    Raises
    ------
    WorkflowError
        fewer jobs than one, a function that does not exist, a task that failed (the others are
        kept), a log that cannot be written, a machine on which processes cannot share locks.
    """
    if jobs < 1:
        raise WorkflowError(f"`--jobs` must be at least 1, got {jobs}.")
    resolve_function(function)
    done = {canonical_json(line["parameters"]): line for line in _finished(log)}
    todo = [task for task in tasks if canonical_json(task) not in done]
    tell = report or (lambda *_: None)
    tell(len(tasks) - len(todo), len(tasks))
    try:
        with contextlib.closing(_run_and_keep(function, todo, log, jobs, project)) as lines:
            for line in lines:
                done[canonical_json(line["parameters"])] = line
                tell(len(done), len(tasks))
    except (WorkflowError, OSError) as error:
        reason = (
            f"Could not write {log}: {error.strerror or error}."
            if isinstance(error, OSError)
            else str(error)
        )
        kept = (
            f"{len(done)} of {len(tasks)} tasks are finished and kept: mend it and run the same "
            "command again."
        )
        raise WorkflowError(f"{reason}\n{kept}") from error
    return [done[canonical_json(task)] for task in tasks]


def _run_and_keep(
    function: str, tasks: list[dict], log: Path, jobs: int, project: Project | None
) -> Iterator[dict]:
    """Run tasks in processes of their own; each result is on the disk before it is given out. The
    processes end with this generator.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    failure = None
    own = (folders(project), python_path(project), str(opened_files(log))) if project else ()
    with log.open("a", encoding="utf-8") as file, _processes(jobs, own) as pool:
        with started_in(clean_environment(project) if project else dict(os.environ)):
            futures = {
                pool.submit(_run_task, function, task, str(log.with_suffix(""))): task
                for task in tasks
            }
        pending = set(futures)
        while pending:
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                try:
                    line = _result(future, futures[future])
                except WorkflowError as error:
                    failure = failure or error
                    # what runs may end, and is kept
                    pending = {other for other in pending if not other.cancel()}
                    continue
                # the line break comes first: a line that was cut short spoils no other
                file.write("\n" + json.dumps(line))
                file.flush()
                os.fsync(file.fileno())
                yield line
    if failure:
        raise failure


def _result(future: Future, task: dict) -> dict:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise WorkflowError(
            "A process of the sweep was killed; the machine may be out of memory."
        ) from error
    except Exception as error:
        # the cause is the traceback of the process, as text
        raise WorkflowError(
            f"The task {task} failed: {type(error).__name__}: {error}\n{error.__cause__ or ''}"
        ) from error


def opened_files(log: Path) -> Path:
    """Where the processes that work for a log write down the project's files that they open;
    `tracing.read_log` reads it.
    """
    return log.with_suffix(".opened")


@contextlib.contextmanager
def _processes(jobs: int, own: Sequence[object]) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes end when this context does, or when this process dies, however: two
    must never share a checkpoint.
    """
    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)  # they wait for our end of it to be closed
    try:
        pool = ProcessPoolExecutor(jobs, context, _prepare, (theirs, *own))
    except OSError as error:
        raise WorkflowError(
            f"This machine does not let processes share locks ({error.strerror or error}), and "
            "tasks run in processes of their own. "
            "On Linux, /dev/shm must be a folder that can be written."
        ) from error
    try:
        yield pool
    except BaseException:  # Ctrl-C too: a task may take hours, and nobody waits for it any more
        ours.close()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        ours.close()
        theirs.close()


def _prepare(
    parent: Connection, own: Sequence[str] = (), path: Sequence[str] = (), opened: str = ""
) -> None:
    """In each process, before a task imports a numeric library: `own` are the folders of the
    project, `path` is for `sys.path`.
    """
    os.environ.update(ONE_THREAD)
    # a terminal sends Ctrl-C to all processes: the command answers for them
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # it came from the process of the command, with all that its user has put there
    sys.path[:] = path or sys.path
    if own:
        import_from_sources(own)
        write_down_opened_files(own, opened)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        parent.recv_bytes()  # nothing is ever sent
    os._exit(1)


def _run_task(function: str, task: dict, folder: str) -> dict:
    call = resolve_function(function)
    extra = {}
    if "checkpoint" in inspect.signature(call).parameters:
        extra["checkpoint"] = Path(folder) / sha256(canonical_json(task))[:12]
        extra["checkpoint"].mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    returned = call(**task, **extra)
    try:
        result = as_json(returned)
    except ValueError as error:
        raise ValueError(
            f"what it returned cannot be kept. {error}. Return numbers that are finite, texts, "
            "lists and dicts of them"
        ) from error
    return {"parameters": task, "result": result, "seconds": round(time.perf_counter() - began, 3)}


def _finished(log: Path) -> Iterator[dict]:
    if not log.is_file():
        return
    for line in log.read_text(encoding="utf-8").splitlines():
        try:
            data = as_json(json.loads(line))
        except (ValueError, RecursionError):  # cut short by a kill, or what no record can hold
            continue
        if isinstance(data, dict) and {"parameters", "result", "seconds"} <= set(data):
            yield data
