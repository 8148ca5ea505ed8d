"""A recorded run: sealed JSON with its provenance, read, checked and described."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, Field

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, read_sealed, sha256
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware_line
from ntpcompanion.workflow.base.schema import validate
from ntpcompanion.workflow.hashing.reach import definition_hashes
from ntpcompanion.workflow.records.plans import Plan, read_plans
from ntpcompanion.workflow.records.result_comparison import Tolerance
from ntpcompanion.workflow.sweeps.find_experiment import PARTS, experiment_module
from ntpcompanion.workflow.sweeps.grid import require_every_task
from ntpcompanion.workflow.sweeps.task_inputs import changed_inputs, present_digests

Schema = Literal[2]
SCHEMA = get_args(Schema)[0]


class _Task(BaseModel, extra="forbid"):
    parameters: dict[str, Any]
    result: Any
    seconds: float


class _Hardware(BaseModel):  # what the banner says of a machine; there may be more
    processor: str
    cores: int
    gpu: str = ""


class _Verified(BaseModel, extra="forbid"):
    """`tasks` of all `of` tasks, run again by later sources with results equal up to tolerances."""

    tasks: int
    of: int
    deviation: float
    sources: dict[str, str]
    versions: dict[str, str]
    hardware: _Hardware
    date: str
    inputs: dict[str, str] = {}
    tolerances: dict[str, Tolerance] = {}


class _Rehashed(BaseModel, extra="forbid"):
    """The sources of the last entry of a record, as what a record rests on was defined later."""

    sources: dict[str, str]
    date: str
    note: str = ""


class _Stored(BaseModel, extra="forbid"):
    number: Annotated[Schema, Field(alias="schema")]  # models of pydantic have a method `schema`
    name: str
    plan: Plan
    results: list[_Task]
    sources: dict[str, str]
    versions: dict[str, str]
    hardware: _Hardware
    inputs: dict[str, str] = {}
    started: str
    finished: str
    seconds: float
    verified: list[_Verified]
    rehashed: _Rehashed | None = None
    checksum: str


@dataclass(frozen=True)
class Record:
    """A stored record: its `parameters` are those of its plan, a list for each that was varied;
    `made` says when, on what and by which sources it was made, and which tasks were verified since;
    `outdated` are the definitions that differ from those which made it or last verified it.
    """

    name: str
    results: list[dict[str, Any]]
    parameters: dict[str, Any]
    about: str
    made: str
    outdated: list[str]


def load_record(project: Project, name: str) -> Record:
    """Read and check a record. Raises WorkflowError as `read_stored`."""
    _, data = read_stored(project, name)
    plan, outdated = data["plan"], _outdated(project, data)
    parameters = {**plan["fixed"], **plan["grid"]}
    return Record(name, data["results"], parameters, plan["about"], _made(data), outdated)


def read_stored(project: Project, name: str) -> tuple[Path, dict[str, Any]]:
    """The file of a record, and its checked content. Raises WorkflowError if the file is missing,
    was edited, has another schema, or holds other tasks than its plan has.
    """
    path = project.records / f"{name}.json"
    if not path.is_file():
        raise WorkflowError(f"{path} does not exist. Make it with `ntpcompanion record {name}`.")
    data = read_sealed(path)
    rejection = (
        f"{path} is not a record {name!r} of schema {SCHEMA}. Make it again with "
        f"`ntpcompanion record {name}`."
    )
    if validate(data, _Stored, f"{rejection} Its faults").name != name:
        raise WorkflowError(rejection)
    require_every_task(path, data["plan"], data["results"])
    return path, data


def experiment_sources(project: Project, plan: Mapping[str, Any]) -> dict[str, str]:
    """The hash of every definition that the experiment of a plan reaches: what its record rests on.

    The values of the plan are looked at for names of modules that it may import.
    """
    module = experiment_module(project, plan["experiment"])
    texts = re.findall(r'"([^"]*)"', canonical_json([plan["fixed"], plan["grid"]]))
    return definition_hashes(module, PARTS, *project.packages, texts=texts)


def last_entry(data: dict[str, Any]) -> dict[str, Any]:
    """That of the last verification of a record, or the record itself."""
    entry: dict[str, Any] = [data, *data["verified"]][-1]
    return entry


def same_plan(project: Project, data: dict[str, Any]) -> Plan | None:
    """The plan of a record, if plans.yml still has the one that made it."""
    plan = read_plans(project).get(data["name"])
    return plan if plan and plan.model_dump() == data["plan"] else None


def first_of(names: Sequence[str], shown: int = 3) -> str:
    """The first few names of a list, and how many more there are."""
    more = len(names) - shown
    return ", ".join(names) if more < 2 else f"{', '.join(names[:shown])} and {more} more"


def _outdated(project: Project, data: dict[str, Any]) -> list[str]:
    present = experiment_sources(project, data["plan"])
    known = (data.get("rehashed") or last_entry(data))["sources"]
    changed = sorted(name for name in {*present, *known} if present.get(name) != known.get(name))
    changed += changed_inputs(present_digests(project), last_entry(data).get("inputs", {}))
    return changed + ["book/records/plans.yml"] * (same_plan(project, data) is None)


def _made(data: dict[str, Any]) -> str:
    made = f"{data['finished'][:10]}, {data['seconds']:.0f} s of computing{_where(data)}"
    for entry in data["verified"][-1:]:
        equal = "equal" if not entry["deviation"] else f"equal to {entry['deviation']:.1g}"
        again = f"{entry['tasks']} of {entry['of']} tasks run again {entry['date'][:10]}"
        made += f"; {again} with {equal} results{_where(entry)}"
    return made


def _where(entry: dict[str, Any]) -> str:
    source = sha256(canonical_json(entry["sources"]))[:12]
    return f" on {hardware_line(entry['hardware'])}, source {source}"
