"""`book/records/plans.yml`, which says what is recorded at which points; and a recorded run: sealed
JSON with its provenance, read, checked and described.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from unicodedata import normalize

from pydantic import AfterValidator, BaseModel, Field

from ntpcompanion.workflow.base.errors import WorkflowError, require_known
from ntpcompanion.workflow.base.files import as_json, canonical_json, read_sealed, read_text, sha256
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware_line
from ntpcompanion.workflow.base.yaml_files import parse_yaml, validate
from ntpcompanion.workflow.hashing.definitions import definition_hashes
from ntpcompanion.workflow.records.deviation import Tolerance
from ntpcompanion.workflow.sweeps.grid import repeated, require_every_task
from ntpcompanion.workflow.sweeps.targets import PARTS, experiment_module
from ntpcompanion.workflow.sweeps.task_process import changed_inputs, present_digests


def _module_name(experiment: str) -> str:
    if not experiment.isidentifier() or iskeyword(experiment):
        raise ValueError("must be the name of a module of the package's experiments")
    return experiment


def _distinct(grid: dict[str, list[Any]]) -> dict[str, list[Any]]:
    for name, values in grid.items():
        if twice := repeated(values, canonical_json):
            raise ValueError(f"`{name}` gives {twice} twice: give each value once")
    return grid


class Queue(BaseModel, extra="forbid"):
    """Why a run waits for a larger machine: what it will decide, and how much memory it needs; with
    the values of `miniature` in place of those of the plan it takes seconds on a processor.
    """

    decides: Annotated[str, Field(min_length=3)]
    memory_gib: Annotated[float, Field(gt=0)]
    miniature: Annotated[dict[str, Annotated[Any, AfterValidator(as_json)]], Field(min_length=1)]


class Plan(BaseModel, extra="forbid"):
    """An experiment by its name, run once for every point of `grid` with the `fixed` parameters.

    `tolerances` say for some fields of its results by how much a number may differ when tasks are
    run again, `queue` that it waits; they are not part of what is run.
    """

    experiment: Annotated[str, AfterValidator(_module_name)]
    about: Annotated[str, Field(min_length=3)]
    fixed: dict[str, Annotated[Any, AfterValidator(as_json)]] = {}
    grid: Annotated[
        dict[str, Annotated[list[Annotated[Any, AfterValidator(as_json)]], Field(min_length=1)]],
        Field(min_length=1),
        AfterValidator(_distinct),
    ]
    tolerances: dict[str, Tolerance] = Field(default_factory=dict, exclude=True)
    queue: Queue | None = Field(default=None, exclude=True)


def read_plans(project: Project) -> dict[str, Plan]:
    path = project.records / "plans.yml"
    return dict(_plans(read_text(path), str(path))) if path.is_file() else {}


# a build asks for each of its records
@functools.lru_cache(maxsize=1)
def _plans(text: str, where: str) -> Mapping[str, Plan]:
    plans: dict[str, Plan] = validate(parse_yaml(text, where) or {}, dict[str, Plan], where)
    table = {normalize("NFC", name): plan for name, plan in plans.items()}
    for name in table:
        if not re.fullmatch(r"[\w-]+", name):  # it becomes the name of a file
            raise WorkflowError(
                f"{where}: {name!r} is not a name of a record: letters, digits, - and _ only."
            )
    return table


def plan_of(project: Project, name: str) -> Plan:
    plans = read_plans(project)
    return plans[require_known("record", name, plans)]


def next_in_queue(project: Project) -> str:
    """The first plan with a `queue` whose record is not made."""
    for name, plan in read_plans(project).items():
        if plan.queue and not (project.records / f"{name}.json").is_file():
            return name
    raise WorkflowError(
        "The queue is empty: every plan of book/records/plans.yml with a `queue` has its record."
    )


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
    _, data = read_stored(project, name)
    plan, present = data["plan"], same_plan(project, data)
    about = present.about if present else plan["about"]
    parameters, outdated = {**plan["fixed"], **plan["grid"]}, _outdated(project, data)
    return Record(name, data["results"], parameters, about, _made(data), outdated)


def read_stored(project: Project, name: str) -> tuple[Path, dict[str, Any]]:
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
    return plan if plan and _decides(plan.model_dump()) == _decides(data["plan"]) else None


def _decides(plan: Mapping[str, Any]) -> str:
    """What of a plan decides numbers: all but the words about it."""
    return canonical_json({name: plan[name] for name in plan if name != "about"})


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
        near = f"results equal to {entry['deviation']:.1g}"
        equal = near if entry["deviation"] else "equal results"
        again = f"{entry['tasks']} of {entry['of']} tasks run again {entry['date'][:10]}"
        made += f"; {again} with {equal}{_where(entry)}"
    return made


def _where(entry: dict[str, Any]) -> str:
    source = sha256(canonical_json(entry["sources"]))[:12]
    return f" on {hardware_line(entry['hardware'])}, source {source}"
