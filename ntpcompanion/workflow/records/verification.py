"""`record NAME --verify K`: does the present code still give the results that are stored?"""

import random
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256, write_sealed
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware, now, versions
from ntpcompanion.workflow.records.comparison import differences, largest_deviation
from ntpcompanion.workflow.records.making import DEFAULT, Options, computed
from ntpcompanion.workflow.records.plans import read_plans
from ntpcompanion.workflow.records.record import experiment_sources, read_stored

SHOWN = 3  # of many differences


def verify_record(
    project: Project, name: str, count: int, options: Options = DEFAULT
) -> dict[str, Any]:
    """Run `count` tasks of a stored record again, and note in the record that they gave the same.

    The tasks are drawn by a hash of the record and of the present code: nobody can choose them, and
    a verification that was killed goes on with the same ones. Results are the same if they are
    equal up to the rounding of processors; durations are not compared.

    Returns
    -------
    dict
        what was appended to the record: how many `tasks` `of` how many, the largest relative
        `deviation` of a number, and the `sources`, `versions`, `hardware` and `date`.

    Raises
    ------
    WorkflowError
        no such record, a plan that is not the stored one, more tasks than there are, a task that
        fails, or one whose result differs, with the places that do. The record is then untouched.
    """
    with project.lock(f"record-{name}"):
        path, data = read_stored(project, name)
        _require_plan(project, name, data)
        sources = experiment_sources(project, data["plan"])
        drawn = [data["results"][i] for i in _draw(data, sources, count)]
        tasks = [line["parameters"] for line in drawn]
        with computed(project, f"{name}-verify", data["plan"], tasks, options) as found:
            pairs = [(old["result"], new["result"]) for old, new in zip(drawn, found, strict=True)]
            _require_equal(name, tasks, pairs)
            entry = {
                "tasks": count,
                "of": len(data["results"]),
                "deviation": max(largest_deviation(old, new) for old, new in pairs),
                "sources": sources,
                "versions": versions(project.settings.libraries),
                "hardware": hardware(),
                "date": now(),
            }
            del data["checksum"]
            data.pop("rehashed", None)  # it spoke of the last entry
            write_sealed(path, {**data, "verified": [*data["verified"], entry]})
    return entry


def _draw(data: dict[str, Any], sources: dict[str, str], count: int) -> list[int]:
    of = len(data["results"])
    if not 1 <= count <= of:
        raise WorkflowError(
            f"`--verify` must lie in 1 … {of}, the tasks of the record {data['name']!r}, got "
            f"{count}."
        )
    seed = sha256(canonical_json([data["checksum"], sources, count]))
    return sorted(random.Random(seed).sample(range(of), count))


def _require_plan(project: Project, name: str, data: dict[str, Any]) -> None:
    plan = read_plans(project).get(name)
    if plan is None or plan.model_dump() != data["plan"]:
        raise WorkflowError(
            f"The record {name!r} was made by another plan than book/records/plans.yml names now. "
            f"Restore that plan, or make the record again with `ntpcompanion record {name}`."
        )


def _require_equal(name: str, tasks: list[dict[str, Any]], pairs: list[tuple[Any, ...]]) -> None:
    for task, (old, new) in zip(tasks, pairs, strict=True):
        if places := differences(old, new):
            shown = "; ".join(map(str, places[:SHOWN]))
            more = f"; {len(places) - SHOWN} more" if len(places) > SHOWN else ""
            raise WorkflowError(
                f"The record {name!r} does not hold for the present code. The task {task} gives "
                f"another result than the stored one: {shown}{more}. The record is as it was. If "
                f"the change is meant, make it again with `ntpcompanion record {name}`."
            )
