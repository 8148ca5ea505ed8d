"""Tasks of a record, computed in parallel, and kept as what the present sources made."""

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.files import canonical_json, sha256, write_sealed
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware, now, versions
from ntpcompanion.workflow.records.plans import plan_of
from ntpcompanion.workflow.records.record import SCHEMA, experiment_sources
from ntpcompanion.workflow.sweeps.campaign import DEFAULT, Campaign, Options, compute
from ntpcompanion.workflow.sweeps.grid import grid_tasks
from ntpcompanion.workflow.sweeps.targets import ExperimentTarget


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
            write_sealed(
                path,
                {
                    "schema": SCHEMA,
                    "name": name,
                    "plan": plan,
                    "results": [
                        {"parameters": task, "result": line["result"], "seconds": line["seconds"]}
                        for task, line in zip(tasks, lines, strict=True)
                    ],
                    "sources": sources,
                    **made_by(project, lines),
                    "started": started,
                    "finished": now(),
                    "seconds": round(sum(line["seconds"] for line in lines), 1),
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
    """The lines of some tasks of a plan, as `compute` gives them, for a block that stores them.

    Finished tasks stay below `_build/records` until the block has ended without an error: a call
    with the same `name` and plan goes on from them.

    Raises
    ------
    WorkflowError
        an experiment that does not exist, a task that is not a plan of it, and as `compute`; it
        checks that no source or data file has changed meanwhile.
    """
    target = ExperimentTarget(project, plan["experiment"])
    points = target.points(tasks)
    # the name holds plan and code: a changed plan never resumes from results of another, and those
    # are not lost
    code = [plan, points[0].sources, versions(project.settings.libraries)]
    journal = project.build / "records" / f"{name}-{sha256(canonical_json(code))[:12]}.jsonl"
    campaign = Campaign(target, points, journal, retry=True, needs_all=True)
    yield compute(campaign, options)
    journal.unlink()
    shutil.rmtree(campaign.folder, ignore_errors=True)
