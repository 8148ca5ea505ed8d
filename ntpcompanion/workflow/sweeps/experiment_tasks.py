"""One experiment at many points: each task in a process of its own, each result on disk before the
next is waited for.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import versions
from ntpcompanion.workflow.hashing.sources import source_hashes
from ntpcompanion.workflow.sweeps.alone import run_alone
from ntpcompanion.workflow.sweeps.calls import Call, Calls, engine, require_jobs
from ntpcompanion.workflow.sweeps.find_experiment import declared_inputs, read_points
from ntpcompanion.workflow.sweeps.journal import (
    Present,
    append,
    appended,
    finished_lines,
)
from ntpcompanion.workflow.sweeps.task_inputs import changed_inputs, require_unchanged


def _finished(
    project: Project,
    calls: Calls,
    keys: Mapping[str, str],
    journal: TextIO,
    note: Callable[[str], None],
) -> Iterator[dict[str, Any]]:
    """Each result, when it is on the disk. After one that failed no more are begun."""
    failure, note_once = None, functools.cache(note)  # all tasks may have the same to say
    for call, outcome in calls:
        task = canonical_json(call.parameters)
        fault = outcome.error
        if outcome.state == "done":
            line = {
                "key": keys[task],
                "parameters": call.parameters,
                "result": outcome.result["result"],
                "read": outcome.result["read"],
                "seconds": outcome.seconds,
                "hardware": outcome.hardware,
            }
            fault = other_inputs(project, line["read"], outcome.host)
            for text in outcome.result["notes"]:
                note_once(text)
            if not fault:
                yield append(journal, line)
        elif outcome.state == "failed":
            fault = f"The task {call.parameters} failed: {outcome.error}\n{outcome.traceback}"
        if fault and failure is None:
            calls.stop()
            failure = fault
    if failure:
        raise WorkflowError(failure)


def other_inputs(project: Project, read: Mapping[str, str], host: str) -> str:
    """A sentence if a task has read data files with another content than they have here; else an
    empty text.
    """
    if not (changed := changed_inputs(project, read)):
        return ""
    names = ", ".join(changed)
    return (
        f"A task on {host} has read {names} with another content than it has here now. If you have "
        "edited it meanwhile, run the same command again; else copy the files of here there."
    )


def run_tasks(
    experiment: str,
    tasks: list[dict[str, Any]],
    log: Path,
    *,
    project: Project,
    sources: Mapping[str, str] | None = None,
    purpose: str = "",
    jobs: int | None = None,
    report: Callable[[int, int], None] | None = None,
    note: Callable[[str], None] = lambda _: None,
    scheduler: str | None = None,
) -> list[dict[str, Any]]:
    """Results of an experiment, named by its module, at all tasks in order: lines of a journal with
    `parameters`, `result`, `seconds`, `read` and `hardware`. Those that `log` already holds are not
    run again.

    All tasks are read as plans before the first is started. A finished task is a line of `log`,
    flushed to disk; a line cut short by a kill is dropped. A line is used again only for the same
    `purpose`, sources and versions, the same data files and, on this machine, the same hardware; if
    one is not, `note` is given a sentence. An experiment whose `run` takes an argument `checkpoint`
    is given a folder of its own, which stays until the record is written, to resume within a task.
    A task fails if its result cannot be written as JSON; a result is what JSON gives back, with
    lists for tuples, whether it was read from `log` or not.
    Each task has an interpreter and a folder of its own, with the `sources` of the modules (by
    default those of now) and the files that the experiment declares, in a clean environment; what
    it asks for besides is a sentence for `note`. A task whose process is killed is tried once more,
    after a word by `note`. With `scheduler` the tasks run on a cluster of Dask that is already
    there.

    Raises
    ------
    WorkflowError
        fewer jobs than one, an experiment that does not exist, a task that is not a plan of it or
        that failed (the others are kept), a log that cannot be written, a scheduler that does not
        answer, a worker with other sources or data files, a data file that was changed meanwhile.
    """
    require_jobs(jobs)
    plans = read_points(experiment, tasks)
    if sources is None:
        sources = source_hashes(f"import {experiment}", *project.packages)
    code = [experiment, dict(sources), versions(project.settings.libraries), purpose]
    keys = {canonical_json(task): sha256(canonical_json([code, task])) for task in tasks}
    present = Present(project, elsewhere=scheduler is not None)
    done = finished_lines(log, set(keys.values()), present, note)
    folder = log.with_suffix("")
    calls = [
        Call(
            run_alone,
            (
                project,
                experiment,
                sources,
                declared_inputs(experiment, plan),
                task,
                folder / key[:12],
            ),
            task,
        )
        for task, plan in zip(tasks, plans, strict=True)
        if (key := keys[canonical_json(task)]) not in done
    ]
    tell = report or (lambda *_: None)
    tell(len(done), len(tasks))
    started = engine(len(calls), jobs=jobs, project=project, scheduler=scheduler)
    try:
        if calls:
            with appended(log) as journal, started as running:
                for line in _finished(project, Calls(running, calls, note), keys, journal, note):
                    done[line["key"]] = line
                    tell(len(done), len(tasks))
        require_unchanged(project, done.values())
    except (WorkflowError, OSError) as error:
        message = getattr(error, "strerror", None) or error
        reason = f"Could not write {log}: {message}." if isinstance(error, OSError) else str(error)
        raise WorkflowError(
            f"{reason}\n{len(done)} of {len(tasks)} tasks are finished and kept: fix it and run "
            "the same command again."
        ) from error
    return [done[keys[canonical_json(task)]] for task in tasks]
