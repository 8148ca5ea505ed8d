"""Runs too long for the book: planned in `book/records/plans.yml`, made once, kept as sealed JSON with their provenance."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ntpcompanion.workflow.errors import WorkflowError, nearest
from ntpcompanion.workflow.files import canonical_json, read_sealed, sha256, write_sealed
from ntpcompanion.workflow.kernel import read_log
from ntpcompanion.workflow.project import Project
from ntpcompanion.workflow.provenance import hardware, hardware_line, now, versions
from ntpcompanion.workflow.sources import source_hashes
from ntpcompanion.workflow.sweep import grid_tasks, opened_files, run_tasks

SCHEMA = 1
_FIELDS = {"schema", "name", "plan", "results", "sources", "versions", "hardware", "started", "finished", "seconds", "checksum"}


class Plan(BaseModel):
    """A function `package.module:name`, called once for every point of `grid` with the `fixed` parameters."""

    model_config = ConfigDict(extra="forbid")
    function: Annotated[str, Field(pattern=r"^[\w.]+:\w+$")]
    about: Annotated[str, Field(min_length=3)]
    fixed: dict = {}
    grid: Annotated[dict[str, Annotated[list, Field(min_length=1)]], Field(min_length=1)]


@dataclass(frozen=True)
class Record:
    """A stored record; `parameters` are those of its plan, a list for each that was varied; `outdated` lists the package files that
    have changed since it was made.
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
    try:
        table = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        plans = {name: Plan.model_validate(entry) for name, entry in table.items()}
    except (yaml.YAMLError, ValidationError, AttributeError) as error:
        raise WorkflowError(f"{path}: {error}") from error
    for name in plans:
        if not re.fullmatch(r"[\w-]+", str(name)):  # it becomes the name of a file
            raise WorkflowError(f"{path}: {name!r} is no name of a record: letters, digits, - and _ only.")
    return plans


def make_record(project: Project, name: str, *, jobs: int = 2, report: Callable[[int, int], None] | None = None) -> Path:
    """Run the plan of that name, resuming what an interrupted run left, and write `book/records/NAME.json`."""
    plans = read_plans(project)
    if name not in plans:
        raise WorkflowError(f"No record {name!r}.{nearest(name, plans)} Known: {', '.join(plans) or 'none'}.")
    with project.lock(f"record-{name}"):
        return _make_record(project, name, plans[name].model_dump(), jobs, report)


def _make_record(project: Project, name: str, plan: dict, jobs: int, report: Callable[[int, int], None] | None) -> Path:
    sources = _sources(project, plan["function"])
    # the name holds plan and code: a changed plan never resumes from results of another, and those are not lost
    log = project.build / "records" / f"{name}-{sha256(canonical_json([plan, sources, versions()]))[:12]}.jsonl"
    started = now()
    results = run_tasks(plan["function"], grid_tasks(plan["fixed"], plan["grid"]), log, jobs=jobs, report=report, project=project)
    _require_unchanged(project, name, sources, log)
    path = project.records / f"{name}.json"
    seconds = round(sum(item["seconds"] for item in results), 1)
    write_sealed(path, {
        "schema": SCHEMA, "name": name, "plan": plan, "results": results, "sources": sources, "versions": versions(),
        "hardware": hardware(), "started": started, "finished": now(), "seconds": seconds,
    })  # fmt: skip
    log.unlink()
    opened_files(log).unlink(missing_ok=True)
    shutil.rmtree(log.with_suffix(""), ignore_errors=True)
    return path


def _require_unchanged(project: Project, name: str, sources: dict[str, str], log: Path) -> None:
    """Raises WorkflowError if a process has loaded another source than the record would name; its tasks are then dropped."""
    read = read_log(opened_files(log))
    changed = [file for file, digest in sources.items() if read.get(str((project.package / file).resolve()), [digest]) != [digest]]
    if changed:
        for path in (log, opened_files(log)):
            path.unlink(missing_ok=True)
        raise WorkflowError(f"{', '.join(changed)} changed while the record {name!r} was made. Its tasks are dropped: make it again.")


def load_record(project: Project, name: str) -> Record:
    """Read and check a record. Raises WorkflowError if it is missing, was edited, or has another schema."""
    path = project.records / f"{name}.json"
    if not path.is_file():
        raise WorkflowError(f"{path} does not exist. Make it with `ntpcompanion record {name}`.")
    data = read_sealed(path)
    if data.get("schema") != SCHEMA or set(data) != _FIELDS or data["name"] != name:
        raise WorkflowError(f"{path} is no record {name!r} of schema {SCHEMA}. Make it again with `ntpcompanion record {name}`.")
    present = _sources(project, data["plan"]["function"])
    outdated = sorted(file for file in {*present, *data["sources"]} if present.get(file) != data["sources"].get(file))
    plan = read_plans(project).get(name)
    if plan is None or plan.model_dump() != data["plan"]:
        outdated.append("book/records/plans.yml")
    made = f"{data['finished'][:10]}, {data['seconds']:.0f} s of computing on {hardware_line(data['hardware'])}"
    made += f", source {sha256(canonical_json(data['sources']))[:12]}"
    parameters = {**data["plan"]["fixed"], **data["plan"]["grid"]}
    return Record(name, data["results"], parameters, data["plan"]["about"], made, outdated)


def banner(record: Record) -> str:
    """HTML that says what is recorded, where and when; or that it no longer matches the code."""
    state = f"outdated: {', '.join(record.outdated)} changed since" if record.outdated else "matches the present code"
    kind = "ntp-outdated" if record.outdated else "ntp-current"
    text = escape(f"{record.name}: {record.about} Made {record.made}; {state}.")
    return f'<p class="ntp-record {kind}"><strong>Recorded run</strong> {text}</p>'


def _sources(project: Project, function: str) -> dict[str, str]:
    return source_hashes(f"import {function.partition(':')[0]}", project.package)
