"""Tasks of a record, computed in parallel, and kept as what the present sources made."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256, write_sealed
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware, now, versions
from ntpcompanion.workflow.base.tracing import read_log
from ntpcompanion.workflow.records.calls import opened_files
from ntpcompanion.workflow.records.experiment import experiment_module
from ntpcompanion.workflow.records.grid import grid_tasks
from ntpcompanion.workflow.records.plans import plan_of
from ntpcompanion.workflow.records.record import SCHEMA, experiment_sources
from ntpcompanion.workflow.records.tasks import run_tasks
from ntpcompanion.workflow.running.sources import source_hashes


@dataclass(frozen=True)
class Options:
    """How tasks are computed, as `run_tasks` takes it: none of it moves a number."""

    jobs: int | None = None
    scheduler: str | None = None
    report: Callable[[int, int], None] | None = None
    note: Callable[[str], None] = lambda _: None


DEFAULT = Options()


def make_record(project: Project, name: str, options: Options = DEFAULT) -> Path:
    """Run the plan of that name, resuming what an interrupted run left, and write
    `book/records/NAME.json`; see `computed` for what it raises.
    """
    plan = plan_of(project, name).model_dump()
    with project.lock(f"record-{name}"):
        sources, started = experiment_sources(project, plan), now()
        tasks = grid_tasks(plan["fixed"], plan["grid"])
        path = project.records / f"{name}.json"
        with computed(project, name, plan, tasks, options) as results:
            seconds = round(sum(item["seconds"] for item in results), 1)
            write_sealed(
                path,
                {
                    "schema": SCHEMA,
                    "name": name,
                    "plan": plan,
                    "results": results,
                    "sources": sources,
                    "versions": versions(project.settings.libraries),
                    "hardware": hardware(),
                    "started": started,
                    "finished": now(),
                    "seconds": seconds,
                    "verified": [],
                },
            )
    return path


@contextlib.contextmanager
def computed(
    project: Project, name: str, plan: dict[str, Any], tasks: list[dict[str, Any]], options: Options
) -> Iterator[list[dict[str, Any]]]:
    """The results of some tasks of a plan, each `{"parameters", "result", "seconds"}`, for a block
    that stores them.

    Finished tasks are kept below `_build/records` until the block has ended without an error: the
    same call goes on from them.

    Raises
    ------
    WorkflowError
        as `run_tasks`; a package file that changed meanwhile, whose tasks are then dropped.
    """
    module = experiment_module(project, plan["experiment"])
    files = source_hashes(f"import {module}", *project.packages)
    # the name holds plan and code: a changed plan never resumes from results of another, and those
    # are not lost
    mark = sha256(canonical_json([plan, files, versions(project.settings.libraries)]))[:12]
    log = project.build / "records" / f"{name}-{mark}.jsonl"
    results = run_tasks(
        module,
        tasks,
        log,
        jobs=options.jobs,
        scheduler=options.scheduler,
        report=options.report,
        note=options.note,
        project=project,
    )
    _require_unchanged(project, name, files, log)
    yield results
    log.unlink()
    opened_files(log).unlink(missing_ok=True)
    shutil.rmtree(log.with_suffix(""), ignore_errors=True)


def _require_unchanged(project: Project, name: str, files: dict[str, str], log: Path) -> None:
    """Raises WorkflowError if a process has loaded another source than the record would name; its
    tasks are then dropped.
    """
    read = read_log(opened_files(log))
    changed = [
        file
        for file, digest in files.items()
        if read.get(str((project.package / file).resolve()), [digest]) != [digest]
    ]
    if changed:
        for path in (log, opened_files(log)):
            path.unlink(missing_ok=True)
        raise WorkflowError(
            f"{', '.join(changed)} changed while the record {name!r} was made. Its tasks are "
            "dropped: make it again."
        )
