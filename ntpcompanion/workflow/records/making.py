"""Tasks of a record, computed in parallel, and kept as what the present sources made."""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.files import canonical_json, sha256, write_sealed
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware, now, versions
from ntpcompanion.workflow.hashing.sources import source_hashes
from ntpcompanion.workflow.records.plans import plan_of
from ntpcompanion.workflow.records.record import SCHEMA, experiment_sources
from ntpcompanion.workflow.sweeps.experiment_tasks import run_tasks
from ntpcompanion.workflow.sweeps.find_experiment import experiment_module
from ntpcompanion.workflow.sweeps.grid import grid_tasks

RESULT = ("parameters", "result", "seconds")  # what a record has of a line


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
        with computed(project, name, plan, tasks, options) as lines:
            seconds = round(sum(item["seconds"] for item in lines), 1)
            write_sealed(
                path,
                {
                    "schema": SCHEMA,
                    "name": name,
                    "plan": plan,
                    "results": [{field: line[field] for field in RESULT} for line in lines],
                    "sources": sources,
                    **made_by(project, lines),
                    "started": started,
                    "finished": now(),
                    "seconds": seconds,
                    "verified": [],
                },
            )
    return path


def made_by(project: Project, lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Where the tasks of some lines ran: `versions`, the `hardware` and the `inputs` that they
    read, with their digests. Of several machines of a cluster all processors are named.
    """
    machines = {canonical_json(line["hardware"]): line["hardware"] for line in lines}
    first, *others = machines.values() or [hardware()]
    processors = dict.fromkeys(machine["processor"] for machine in (first, *others))
    return {
        "versions": versions(project.settings.libraries),
        "hardware": {**first, "processor": " and ".join(processors)},
        "inputs": dict(sorted(entry for line in lines for entry in line["read"].items())),
    }


@contextlib.contextmanager
def computed(
    project: Project,
    name: str,
    plan: dict[str, Any],
    tasks: list[dict[str, Any]],
    options: Options,
) -> Iterator[list[dict[str, Any]]]:
    """The lines of some tasks of a plan, as `run_tasks` gives them, for a block that stores them.

    Finished tasks stay below `_build/records` until the block has ended without an error: a call
    with the same `name` and plan goes on from them.

    Raises
    ------
    WorkflowError
        as `run_tasks`; it checks that no source or data file has changed meanwhile.
    """
    module = experiment_module(project, plan["experiment"])
    files = source_hashes(f"import {module}", *project.packages)
    # the name holds plan and code: a changed plan never resumes from results of another, and those
    # are not lost
    mark = sha256(canonical_json([plan, files, versions(project.settings.libraries)]))[:12]
    log = project.build / "records" / f"{name}-{mark}.jsonl"
    lines = run_tasks(
        module,
        tasks,
        log,
        jobs=options.jobs,
        scheduler=options.scheduler,
        report=options.report,
        note=options.note,
        project=project,
        sources=files,
        purpose=name,
    )
    yield lines
    log.unlink()
    shutil.rmtree(log.with_suffix(""), ignore_errors=True)
