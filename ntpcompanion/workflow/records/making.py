"""A record made by running the tasks of its plan, or verified by running some of them again: does
the present code still give the results that are stored?
"""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256, write_sealed
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware, now, versions
from ntpcompanion.workflow.records.deviation import (
    USUAL,
    Tolerance,
    Tolerances,
    differences,
    fields_of,
    largest_deviation,
)
from ntpcompanion.workflow.records.record import (
    SCHEMA,
    experiment_sources,
    last_entry,
    plan_of,
    read_stored,
    same_plan,
)
from ntpcompanion.workflow.sweeps.campaign import DEFAULT, Campaign, Options, compute
from ntpcompanion.workflow.sweeps.grid import grid_tasks
from ntpcompanion.workflow.sweeps.targets import ExperimentTarget, load_experiment

SHOWN = 3  # of many differences
EVERY = "every field"  # that has no tolerance of its own


def make_record(project: Project, name: str, options: Options = DEFAULT) -> Path:
    """Run the plan of that name, resuming what an interrupted run left, and write
    `book/records/NAME.json`.
    """
    plan = plan_of(project, name).model_dump()
    path, tasks = project.records / f"{name}.json", grid_tasks(plan["fixed"], plan["grid"])
    with project.lock(f"record-{name}"):
        sources, started = experiment_sources(project, plan), now()
        campaign = _campaign(project, name, plan, tasks)
        lines = compute(campaign, options)
        results = [
            {"parameters": task, "result": line["result"], "seconds": line["seconds"]}
            for task, line in zip(tasks, lines, strict=True)
        ]
        made = {
            "sources": sources,
            **_made_by(project, lines),
            "started": started,
            "finished": now(),
            "seconds": round(sum(line["seconds"] for line in lines), 1),
        }
        record = {"schema": SCHEMA, "name": name, "plan": plan, "results": results}
        write_sealed(path, {**record, **made, "verified": []})
        campaign.discard()
    return path


def try_miniature(project: Project, name: str, options: Options = DEFAULT) -> float:
    """Run one task of a plan of the queue with its `miniature` values, keep nothing, and return the
    seconds.
    """
    plan = plan_of(project, name)
    if plan.queue is None:
        raise WorkflowError(
            f"{name!r} has no `queue` in book/records/plans.yml, so no miniature. "
            f"Run `ntpcompanion record {name}`."
        )
    first = {field: values[0] for field, values in plan.grid.items()}
    task = plan.fixed | first | plan.queue.miniature
    with project.lock(f"record-{name}.miniature"):
        campaign = _campaign(project, f"{name}.miniature", plan.model_dump(), [task])
        (line,) = compute(campaign, options)
        campaign.discard()
    return float(line["seconds"])


def verify_record(
    project: Project, name: str, count: int, options: Options = DEFAULT
) -> dict[str, Any]:
    """Run `count` tasks of a stored record again, note in the record that they gave the same, and
    return that entry: how many `tasks` `of` how many, the largest relative `deviation` of a number,
    the `tolerances`, and what made it.

    The tasks are drawn by a hash of the record and of the present code: nobody can choose them, and
    a verification that was killed goes on with the same ones. Numbers may differ by the tolerance
    that the plan gives for their field, or by `deviation.RELATIVE`; all else must be equal,
    but for durations, which are not compared.
    """
    with project.lock(f"record-{name}"):
        path, data = read_stored(project, name)
        tolerances = _tolerances(project, data)
        sources = experiment_sources(project, data["plan"])
        draw = sha256(canonical_json([data["checksum"], sources, count]))
        drawn = [data["results"][i] for i in _drawn(data, draw, count)]
        tasks = [line["parameters"] for line in drawn]
        campaign = _campaign(project, f"{name}.verify", data["plan"], tasks)
        lines = compute(campaign, options)
        campaign.discard()  # whether they are equal or not, the next verification computes again
        stored = [_in_present_form(project, data["plan"], line["result"]) for line in drawn]
        pairs = [(old, new["result"]) for old, new in zip(stored, lines, strict=True)]
        _require_equal(name, tasks, pairs, tolerances)
        made = _made_by(project, lines)
        entry = {
            "tasks": count,
            "of": len(data["results"]),
            "deviation": max(largest_deviation(old, new, tolerances) for old, new in pairs),
            "tolerances": {
                field: tolerance.model_dump()
                for field, tolerance in {EVERY: USUAL, **tolerances}.items()
            },
            "sources": sources,
            **made,
            "inputs": {**last_entry(data).get("inputs", {}), **made["inputs"]},
            "date": now(),
        }
        del data["checksum"]
        data.pop("rehashed", None)  # it spoke of the last entry
        write_sealed(path, {**data, "verified": [*data["verified"], entry]})
    return entry


def tolerances_in_words(entry: Mapping[str, Any]) -> str:
    """What an entry of a verification says of its tolerances: `Tolerance of every field: ...`."""
    stored = entry["tolerances"].items()
    shown = "; ".join(f"of {field}: {Tolerance(**sizes)}" for field, sizes in stored)
    return f"Tolerance {shown}. All but numbers with a fraction is compared exactly."


def _made_by(project: Project, lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
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


def _campaign(
    project: Project, name: str, plan: dict[str, Any], tasks: list[dict[str, Any]]
) -> Campaign:
    """Tasks of a plan, in a journal below `_build/records` until they are stored: their keys hold
    plan and code, so that a changed one never resumes from results of another.
    """
    target = ExperimentTarget(project, plan["experiment"])
    journal = project.build / "records" / f"{name}.jsonl"
    return Campaign(target, target.points(tasks), journal, retry=True, needs_all=True)


def _in_present_form(project: Project, plan: dict[str, Any], stored: Any) -> object:
    """A stored result as the experiment would write it today: with the fields that its results or
    plans have got since. What it cannot read stays as it is, and differs.
    """
    try:
        return load_experiment(project, plan["experiment"]).Result.from_json(stored).to_json()
    except ValueError:
        return stored


def _drawn(data: dict[str, Any], draw: str, count: int) -> list[int]:
    of = len(data["results"])
    if not 1 <= count <= of:
        raise WorkflowError(
            f"`--verify` must lie in 1 … {of}, the tasks of the record {data['name']!r}, got "
            f"{count}."
        )
    return sorted(random.Random(draw).sample(range(of), count))


def _tolerances(project: Project, data: dict[str, Any]) -> Tolerances:
    plan, name = same_plan(project, data), data["name"]
    if plan is None:
        raise WorkflowError(
            f"The record {name!r} was made by another plan than book/records/plans.yml names now. "
            f"Restore that plan, or make the record again with `ntpcompanion record {name}`."
        )
    known = {field for line in data["results"] for field in fields_of(line["result"])}
    if unknown := set(plan.tolerances) - known:
        raise WorkflowError(
            f"book/records/plans.yml, {name}.tolerances: no result has a number in the field "
            f"{', '.join(sorted(unknown))}. Fields with numbers: {', '.join(sorted(known))}."
        )
    return plan.tolerances


def _require_equal(
    name: str, tasks: list[dict[str, Any]], pairs: list[tuple[Any, ...]], tolerances: Tolerances
) -> None:
    for task, (old, new) in zip(tasks, pairs, strict=True):
        if unequal := differences(old, new, tolerances):
            shown = "; ".join(map(str, unequal[:SHOWN]))
            more = f"; {len(unequal) - SHOWN} more" if len(unequal) > SHOWN else ""
            used = {place.place: place.tolerance for place in unequal[:SHOWN] if place.tolerance}
            within = "".join(f" The tolerance of {place} is {used[place]}." for place in used)
            raise WorkflowError(
                f"The record {name!r} does not hold for the present code. The task {task} gives "
                f"another result than the stored one: {shown}{more}. The record is as it was."
                f"{within} If the change is meant, make it again with `ntpcompanion record {name}`."
            )
