"""`record NAME --verify K`: does the present code still give the results that are stored?"""

import random
from collections.abc import Mapping
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256, write_sealed
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import now
from ntpcompanion.workflow.records.making import computed, made_by
from ntpcompanion.workflow.records.plans import read_plans
from ntpcompanion.workflow.records.record import experiment_sources, read_stored
from ntpcompanion.workflow.records.result_comparison import (
    USUAL,
    Tolerance,
    Tolerances,
    differences,
    fields_of,
    largest_deviation,
)
from ntpcompanion.workflow.sweeps.campaign import DEFAULT, Options

SHOWN = 3  # of many differences
EVERY = "every field"  # that has no tolerance of its own


def verify_record(
    project: Project, name: str, count: int, options: Options = DEFAULT
) -> dict[str, Any]:
    """Run `count` tasks of a stored record again, and note in the record that they gave the same.

    The tasks are drawn by a hash of the record and of the present code: nobody can choose them, and
    a verification that was killed goes on with the same ones. Numbers may differ by a tolerance:
    `comparison.RELATIVE`, or what the plan says for their field; all else must be equal, but for
    durations, which are not compared.

    Returns
    -------
    dict
        what was appended to the record: how many `tasks` `of` how many, the largest relative
        `deviation` of a number, the `tolerances`, and the `sources`, `versions`, `hardware`,
        `inputs` and `date`.

    Raises
    ------
    WorkflowError
        no such record, a plan that is not the stored one, more tasks than there are, a task that
        fails, or one whose result differs, with the places that do. The record is then untouched.
    """
    with project.lock(f"record-{name}"):
        path, data = read_stored(project, name)
        tolerances = _tolerances(project, name, data)
        sources = experiment_sources(project, data["plan"])
        draw = sha256(canonical_json([data["checksum"], sources, count]))
        drawn = [data["results"][i] for i in _drawn(data, draw, count)]
        tasks = [line["parameters"] for line in drawn]
        # whether they are equal or not, the next verification computes again
        run_name = f"{name}-verify-{draw[:12]}"
        with computed(project, run_name, data["plan"], tasks, options) as lines:
            pairs = [(old["result"], new["result"]) for old, new in zip(drawn, lines, strict=True)]
        _require_equal(name, tasks, pairs, tolerances)
        made = made_by(project, lines)
        last = [data, *data["verified"]][-1].get("inputs", {})
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
            "inputs": {**last, **made["inputs"]},
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


def _drawn(data: dict[str, Any], draw: str, count: int) -> list[int]:
    of = len(data["results"])
    if not 1 <= count <= of:
        raise WorkflowError(
            f"`--verify` must lie in 1 … {of}, the tasks of the record {data['name']!r}, got "
            f"{count}."
        )
    return sorted(random.Random(draw).sample(range(of), count))


def _tolerances(project: Project, name: str, data: dict[str, Any]) -> Tolerances:
    """Those that the plan of a record names. Raises WorkflowError if it is not the stored plan, or
    names a field that no result has.
    """
    plan = read_plans(project).get(name)
    if plan is None or plan.model_dump() != data["plan"]:
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
