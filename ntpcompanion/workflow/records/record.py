"""Runs too long for the book: planned in `book/records/plans.yml`, made once, kept as sealed JSON
with their provenance.
"""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ntpcompanion.workflow.base.errors import WorkflowError, nearest
from ntpcompanion.workflow.base.files import (
    as_json,
    canonical_json,
    read_sealed,
    sha256,
    write_sealed,
)
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware, hardware_line, now, versions
from ntpcompanion.workflow.base.shapes import shaped
from ntpcompanion.workflow.base.tracing import read_log
from ntpcompanion.workflow.base.yaml_files import read_yaml
from ntpcompanion.workflow.records.sweep import grid_tasks, opened_files, run_tasks
from ntpcompanion.workflow.running.sources import source_hashes

SCHEMA = 1


def _importable(function: str) -> str:
    names = function.replace(":", ".").split(".")
    if function.count(":") != 1 or not all(
        name.isidentifier() and not iskeyword(name) for name in names
    ):
        raise ValueError("must be of the form package.module:name")
    return function


class Plan(BaseModel):
    """A function `package.module:name`, called once for every point of `grid` with the `fixed`
    parameters.
    """

    model_config = ConfigDict(extra="forbid")
    function: Annotated[str, AfterValidator(_importable)]
    about: Annotated[str, Field(min_length=3)]
    fixed: dict[str, Annotated[Any, AfterValidator(as_json)]] = {}
    grid: Annotated[
        dict[str, Annotated[list[Annotated[Any, AfterValidator(as_json)]], Field(min_length=1)]],
        Field(min_length=1),
    ]


class _Task(BaseModel):
    """One result of a record, with the parameters of its task; seconds of computing."""

    model_config = ConfigDict(extra="forbid")
    parameters: dict[str, Any]
    result: Any
    seconds: float


class _Hardware(BaseModel):
    """What the banner says of a machine; there may be more."""

    processor: str
    cores: int
    gpu: str = ""


class _Stored(BaseModel):
    """What the file of a record holds."""

    model_config = ConfigDict(extra="forbid")
    # models of pydantic have a method `schema`
    number: Annotated[Literal[SCHEMA], Field(alias="schema")]
    name: str
    plan: Plan
    results: list[_Task]
    sources: dict[str, str]
    versions: dict[str, str]
    hardware: _Hardware
    started: str
    finished: str
    seconds: float
    checksum: str


@dataclass(frozen=True)
class Record:
    """A stored record; `parameters` are those of its plan, a list for each that was varied;
    `outdated` lists the package files that have changed since it was made.
    """

    name: str
    results: list[dict]
    parameters: dict
    about: str
    made: str
    outdated: list[str]


def read_plans(project: Project) -> dict[str, Plan]:
    """The plans by name. Raises WorkflowError naming the entry and what is wrong with it."""
    path = project.records / "plans.yml"
    if not path.is_file():
        return {}
    table = shaped(read_yaml(path) or {}, dict[str, Plan], str(path))
    for name in table:
        if not re.fullmatch(r"[\w-]+", name):  # it becomes the name of a file
            raise WorkflowError(
                f"{path}: {name!r} is no name of a record: letters, digits, - and _ only."
            )
    return table


def make_record(
    project: Project, name: str, *, jobs: int = 2, report: Callable[[int, int], None] | None = None
) -> Path:
    """Run the plan of that name, resuming what an interrupted run left, and write
    `book/records/NAME.json`.
    """
    plans = read_plans(project)
    if name not in plans:
        raise WorkflowError(
            f"No record {name!r}.{nearest(name, plans)} Known: {', '.join(plans) or 'none'}."
        )
    with project.lock(f"record-{name}"):
        return _make_record(project, name, plans[name].model_dump(), jobs, report)


def _make_record(
    project: Project, name: str, plan: dict, jobs: int, report: Callable[[int, int], None] | None
) -> Path:
    sources = _sources(project, plan["function"])
    # the name holds plan and code: a changed plan never resumes from results of another, and those
    # are not lost
    log = (
        project.build
        / "records"
        / f"{name}-{sha256(canonical_json([plan, sources, versions()]))[:12]}.jsonl"
    )
    started = now()
    results = run_tasks(
        plan["function"],
        grid_tasks(plan["fixed"], plan["grid"]),
        log,
        jobs=jobs,
        report=report,
        project=project,
    )
    _require_unchanged(project, name, sources, log)
    path = project.records / f"{name}.json"
    seconds = round(sum(item["seconds"] for item in results), 1)
    write_sealed(
        path,
        {
            "schema": SCHEMA,
            "name": name,
            "plan": plan,
            "results": results,
            "sources": sources,
            "versions": versions(),
            "hardware": hardware(),
            "started": started,
            "finished": now(),
            "seconds": seconds,
        },
    )
    log.unlink()
    opened_files(log).unlink(missing_ok=True)
    shutil.rmtree(log.with_suffix(""), ignore_errors=True)
    return path


def _require_unchanged(project: Project, name: str, sources: dict[str, str], log: Path) -> None:
    """Raises WorkflowError if a process has loaded another source than the record would name; its
    tasks are then dropped.
    """
    read = read_log(opened_files(log))
    changed = [
        file
        for file, digest in sources.items()
        if read.get(str((project.package / file).resolve()), [digest]) != [digest]
    ]
    if changed:
        for path in (log, opened_files(log)):
            path.unlink(missing_ok=True)
        raise WorkflowError(
            f"{', '.join(changed)} changed while the record {name!r} was made. Its tasks are "
            "dropped: make it again."
        )


def load_record(project: Project, name: str) -> Record:
    """Read and check a record. Raises WorkflowError if it is missing, was edited, or has another
    schema.
    """
    path = project.records / f"{name}.json"
    if not path.is_file():
        raise WorkflowError(f"{path} does not exist. Make it with `ntpcompanion record {name}`.")
    data = read_sealed(path)
    refusal = (
        f"{path} is no record {name!r} of schema {SCHEMA}. Make it again with `ntpcompanion record "
        f"{name}`."
    )
    if shaped(data, _Stored, f"{refusal} Its faults").name != name:
        raise WorkflowError(refusal)
    present = _sources(project, data["plan"]["function"])
    outdated = sorted(
        file
        for file in {*present, *data["sources"]}
        if present.get(file) != data["sources"].get(file)
    )
    plan = read_plans(project).get(name)
    if plan is None or plan.model_dump() != data["plan"]:
        outdated.append("book/records/plans.yml")
    made = (
        f"{data['finished'][:10]}, {data['seconds']:.0f} s of computing on "
        f"{hardware_line(data['hardware'])}"
    )
    made += f", source {sha256(canonical_json(data['sources']))[:12]}"
    parameters = {**data["plan"]["fixed"], **data["plan"]["grid"]}
    return Record(name, data["results"], parameters, data["plan"]["about"], made, outdated)


def banner(record: Record) -> str:
    """HTML that says what is recorded, where and when; or that it no longer matches the code."""
    state = (
        f"outdated: {', '.join(record.outdated)} changed since"
        if record.outdated
        else "matches the present code"
    )
    kind = "ntp-outdated" if record.outdated else "ntp-current"
    text = escape(f"{record.name}: {record.about} Made {record.made}; {state}.")
    return f'<p class="ntp-record {kind}"><strong>Recorded run</strong> {text}</p>'


def _sources(project: Project, function: str) -> dict[str, str]:
    return source_hashes(f"import {function.partition(':')[0]}", project.package)
