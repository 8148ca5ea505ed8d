"""`book/records/plans.yml`: which experiments are recorded, and at which points."""

import functools
import re
from collections.abc import Mapping
from keyword import iskeyword
from typing import Annotated, Any
from unicodedata import normalize

from pydantic import AfterValidator, BaseModel, Field

from ntpcompanion.spelling import known_as, nearest
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import as_json, canonical_json
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.schema import validate
from ntpcompanion.workflow.base.texts import read_text
from ntpcompanion.workflow.base.yaml_files import parse_yaml
from ntpcompanion.workflow.records.result_comparison import Tolerance
from ntpcompanion.workflow.sweeps.grid import repeated


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
    """The plans by name. Raises WorkflowError naming the entry and what is wrong with it."""
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
    """The plan of that name. Raises WorkflowError with the nearest one if there is none."""
    plans = read_plans(project)
    name = known_as(name, plans)
    if name not in plans:
        raise WorkflowError(
            f"No record {name!r}.{nearest(name, plans)} Known: {', '.join(plans) or 'none'}."
        )
    return plans[name]


def next_in_queue(project: Project) -> str:
    """The first plan with a `queue` whose record is not made. Raises WorkflowError if there is
    none.
    """
    for name, plan in read_plans(project).items():
        if plan.queue and not (project.records / f"{name}.json").is_file():
            return name
    raise WorkflowError(
        "The queue is empty: every plan of book/records/plans.yml with a `queue` has its record."
    )
