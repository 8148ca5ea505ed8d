"""One function over many parameter sets: in parallel processes, each result on disk before the next is waited for."""

import importlib
import inspect
import itertools
import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from ntpcompanion.workflow.errors import WorkflowError
from ntpcompanion.workflow.files import canonical_json, sha256
from ntpcompanion.workflow.kernel import import_from_sources, write_down_opened_files
from ntpcompanion.workflow.processes import clean_environment, folders, python_path, started_in
from ntpcompanion.workflow.project import ONE_THREAD, Project


def grid_tasks(fixed: Mapping, grid: Mapping[str, list]) -> list[dict]:
    """Every combination of the grid's values, with the fixed ones: one task each, in the order of the grid."""
    return [{**fixed, **dict(zip(grid, values, strict=True))} for values in itertools.product(*grid.values())]


def resolve_function(path: str) -> Callable:
    """The function behind `"package.module:name"`."""
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise WorkflowError(f"`function: {path}` names no function of the form package.module:name ({error}).") from error


def run_tasks(
    function: str,
    tasks: list[dict],
    log: Path,
    *,
    jobs: int,
    report: Callable[[int, int], None] | None = None,
    project: Project | None = None,
) -> list[dict]:
    """Results of all tasks in order, `{"parameters", "result", "seconds"}`; those that `log` already holds are not run again.

    A finished task is a line of `log`, flushed to disk; a line cut short by a kill is dropped. A function that takes an
    argument `checkpoint` is given a folder of its own, kept until the record is written, to resume within a task.
    With `project` the processes have its clean environment, load its modules from their sources, and write down what they
    open there: see `opened_files`.
    """
    resolve_function(function)
    done = {canonical_json(line["parameters"]): line for line in _finished(log)}
    todo = [task for task in tasks if canonical_json(task) not in done]
    tell = report or (lambda *_: None)
    tell(len(tasks) - len(todo), len(tasks))
    try:
        for line in _run_and_keep(function, todo, log, jobs, project):
            done[canonical_json(line["parameters"])] = line
            tell(len(done), len(tasks))
    except (WorkflowError, OSError) as error:
        reason = f"Could not write {log}: {error.strerror or error}." if isinstance(error, OSError) else str(error)
        kept = f"{len(done)} of {len(tasks)} tasks are finished and kept: mend it and run the same command again."
        raise WorkflowError(f"{reason}\n{kept}") from error
    return [done[canonical_json(task)] for task in tasks]


def _run_and_keep(function: str, tasks: list[dict], log: Path, jobs: int, project: Project | None) -> Iterator[dict]:
    """Run tasks in processes of their own; each result is on the disk before it is given out."""
    log.parent.mkdir(parents=True, exist_ok=True)
    failure = None
    prepare = (_prepare, (folders(project), python_path(project), str(opened_files(log)))) if project else (_prepare,)
    with log.open("a", encoding="utf-8") as file, ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), *prepare) as pool:
        with started_in(clean_environment(project) if project else dict(os.environ)):
            futures = {pool.submit(_run_task, function, task, str(log.with_suffix(""))): task for task in tasks}
        pending = set(futures)
        try:
            while pending:
                finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    try:
                        line = _result(future, futures[future])
                    except WorkflowError as error:
                        failure = failure or error
                        pending = {other for other in pending if not other.cancel()}  # what runs may end, and is kept
                        continue
                    file.write("\n" + json.dumps(line))  # the line break comes first: a line that was cut short spoils no other
                    file.flush()
                    os.fsync(file.fileno())
                    yield line
        finally:
            pool.shutdown(cancel_futures=True)
    if failure:
        raise failure


def _result(future: Future, task: dict) -> dict:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise WorkflowError("A process of the sweep was killed; the machine may be out of memory.") from error
    except Exception as error:
        # the cause is the traceback of the process, as text
        raise WorkflowError(f"The task {task} failed: {type(error).__name__}: {error}\n{error.__cause__ or ''}") from error


def opened_files(log: Path) -> Path:
    """Where the processes that work for a log write down the project's files that they open; `kernel.read_log` reads it."""
    return log.with_suffix(".opened")


def _prepare(own: Sequence[str] = (), path: Sequence[str] = (), opened: str = "") -> None:
    """In each process, before a task imports a numeric library: `own` are the folders of the project, `path` is for `sys.path`."""
    os.environ.update(ONE_THREAD)
    sys.path[:] = path or sys.path  # it came from the process of the command, with all that its user has put there
    if own:
        import_from_sources(own)
        write_down_opened_files(own, opened)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """However the command ends, its processes end too: two must never share a checkpoint."""
    multiprocessing.parent_process().join()
    os._exit(1)


def _run_task(function: str, task: dict, folder: str) -> dict:
    call = resolve_function(function)
    extra = {}
    if "checkpoint" in inspect.signature(call).parameters:
        extra["checkpoint"] = Path(folder) / sha256(canonical_json(task))[:12]
        extra["checkpoint"].mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    result = call(**task, **extra)
    return {"parameters": task, "result": result, "seconds": round(time.perf_counter() - began, 3)}


def _finished(log: Path) -> Iterator[dict]:
    if not log.is_file():
        return
    for line in log.read_text(encoding="utf-8").splitlines():
        try:
            data = json.loads(line)
        except ValueError:  # cut short by a kill
            continue
        if isinstance(data, dict) and {"parameters", "result", "seconds"} <= set(data):
            yield data
