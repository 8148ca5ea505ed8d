"""What a campaign runs: a notebook under a profile, or an experiment.

Both have a `name` for files, `read` a value of the command line, check given values before anything
is started and settle them as `points`.
"""

import dataclasses
import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ntpcompanion.spelling import known_as, nearest
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256
from ntpcompanion.workflow.base.processes import Lifeline
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import library_versions, python_minor
from ntpcompanion.workflow.hashing.sources import source_hashes
from ntpcompanion.workflow.notebooks.notebook import Notebook, find_notebooks, notebook_paths
from ntpcompanion.workflow.notebooks.parameter_checks import run_checks
from ntpcompanion.workflow.notebooks.parameters import NO_LITERAL, literal, lookup, parse_value
from ntpcompanion.workflow.notebooks.profiles import Profiles, check_profile, read_profiles
from ntpcompanion.workflow.running.execute import execute
from ntpcompanion.workflow.running.freshness import FILES_READ, input_hashes, key_parts
from ntpcompanion.workflow.running.results import Result
from ntpcompanion.workflow.running.runs import plan
from ntpcompanion.workflow.sweeps.executors import NotDone, Outcome
from ntpcompanion.workflow.sweeps.find_experiment import (
    declared_inputs,
    known_experiments,
    load_experiment,
    read_plan,
)
from ntpcompanion.workflow.sweeps.task_inputs import project_here, settings_of
from ntpcompanion.workflow.sweeps.task_process import run_experiment

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Point:
    """One run of a campaign: what was given, all parameters, a hash of everything that decides its
    numbers, and what makes its outcome, given a `place` for its files, whether to `keep` the
    executed notebook, and a `lifeline` that its processes must not outlive (None on a cluster).
    """

    overrides: dict[str, Any]
    parameters: dict[str, Any]
    key: str
    call: Callable[..., Outcome]


@dataclass(frozen=True)
class NotebookTarget:
    """A notebook under a profile; its results are measured claims."""

    of_claims = True

    project: Project
    notebook: Notebook
    profile: str
    profiles: Profiles

    @property
    def name(self) -> str:
        """How files are called."""
        return f"{self.notebook.name}-{self.profile}"

    def read(self, parameter: str, text: str) -> object:
        """By the type of the default."""
        where = f"Notebook {self.notebook.name!r}"
        return parse_value(lookup(self.notebook.parameters, parameter, where), text, where)

    def takes_text(self, parameter: str) -> bool:
        """By the type of the default."""
        return isinstance(self.notebook.defaults.get(parameter), str)

    def points(self, overrides: list[dict[str, Any]]) -> list[Point]:
        """Settled as `execute -p` does."""
        where = self.project, self.notebook, self.profile, self.profiles
        runs = [plan(*where, point) for point in overrides]
        parts = key_parts(self.project, self.notebook, runs[0].parameters)
        same = {name: parts[name] for name in parts if name not in ("parameters", "inputs")}
        points = []
        for run in runs:
            inputs = input_hashes(self.project, self.notebook, run.parameters)
            key = sha256(canonical_json([same, self.profile, run.parameters, inputs]))
            named = self.project, self.notebook.name, self.profile, run.overrides, key
            points.append(Point(run.overrides, run.parameters, key, partial(run_notebook, *named)))
        return points

    def check(self, points: list[Point]) -> None:
        """Log what the checks that the front matter names say of the runs. Raises WorkflowError
        where one rejects them.
        """
        variants = [point.parameters for point in points]
        where = f"Notebook {self.notebook.name!r}"
        for note in run_checks(self.notebook.checks, variants, where):
            log.warning("%s: %s", self.name, note)


@dataclass(frozen=True)
class ExperimentTarget:
    """An experiment by the name of its module; its results are those of its `run`."""

    of_claims = False

    project: Project
    name: str

    def read(self, parameter: str, text: str) -> object:
        """A literal of Python, else the text itself; `points` checks names and types."""
        try:
            return literal(text)
        except NO_LITERAL:
            return text

    def takes_text(self, parameter: str) -> bool:
        """By the type of the field."""
        field = load_experiment(self.project, self.name).Plan.model_fields.get(parameter)
        return field is not None and field.annotation is str

    def points(self, overrides: list[dict[str, Any]]) -> list[Point]:
        """Read as plans. Raises WorkflowError for values that are not a plan of the experiment."""
        experiment = load_experiment(self.project, self.name)
        module = experiment.__name__
        sources = source_hashes(f"import {module}", *self.project.packages)
        libraries = library_versions(self.project.settings.libraries)
        same, points = [module, sources, libraries, python_minor()], []
        settings = settings_of(self.project)
        for override in overrides:
            plan = read_plan(experiment, override)
            settled, inputs = plan.to_json(), declared_inputs(experiment, plan)
            key = sha256(canonical_json([same, settled]))
            named = self.project, module, sources, settings, inputs, override
            points.append(Point(override, settled, key, partial(run_experiment, *named)))
        return points

    def check(self, points: list[Point]) -> None:
        """A plan has been checked when it was read."""


Target = NotebookTarget | ExperimentTarget


def find_target(project: Project, name: str, profile: str | None) -> Target:
    """The notebook or the experiment of that name; `notebooks/NAME` and `experiments/NAME` say
    which where both have it. Raises WorkflowError for an unknown name or profile, a name of both,
    and a profile for an experiment.
    """
    folder, _, bare = name.rpartition("/")
    notebooks = notebook_paths(project) if folder in ("", "notebooks") else {}
    experiments = known_experiments(project) if folder in ("", "experiments") else []
    bare = known_as(bare, [*notebooks, *experiments])
    if bare in notebooks and bare in experiments:
        raise WorkflowError(
            f"{bare!r} is a notebook and an experiment. Write notebooks/{bare} or "
            f"experiments/{bare}."
        )
    if bare in notebooks:
        profile, known = check_profile(profile or "book"), find_notebooks(project)
        return NotebookTarget(project, known[bare], profile, read_profiles(project, known))
    if bare not in experiments:
        names = [*notebooks, *experiments]
        raise WorkflowError(
            f"No notebook and no experiment {name!r}.{nearest(bare, names)} Known: "
            f"{', '.join(names) or 'none'}."
        )
    if profile is not None:
        raise WorkflowError(
            f"`--profile {profile}`: an experiment has no profiles. Give its parameters by "
            "`-p NAME=VALUE`."
        )
    return ExperimentTarget(project, bare)


def run_notebook(
    project: Project,
    name: str,
    profile: str,
    overrides: dict[str, Any],
    key: str,
    *,
    place: Path,
    keep: bool,
    lifeline: Lifeline | None,
) -> Outcome:
    """Execute a notebook in the project of the process that this runs in: what it claims, the other
    files that it read, and itself if it is to be kept. Raises WorkflowError with the message of the
    runner, and NotDone if the run is not the one that was planned.
    """
    project, place = project_here(project, place)
    known = find_notebooks(project)
    target = NotebookTarget(project, known[name], profile, read_profiles(project, known))
    if target.points([overrides])[0].key != key:
        raise NotDone(
            state="rejected",
            error=f"has other sources, inputs or libraries than {target.name} was planned with",
        )
    run = plan(project, target.notebook, profile, target.profiles, overrides)
    run = dataclasses.replace(run, folder=place)
    try:
        scratch = place / "making"
        (outcome,) = execute([run], jobs=1, force=True, scratch=scratch, lifeline=lifeline)
        if outcome.status == "failed":
            raise WorkflowError(outcome.message)
        result = Result.load(run.results)
        return {
            "result": {"claims": [item.to_json() for item in result.measurements]},
            "read": result.key_parts[FILES_READ],
            "page": run.page.read_text(encoding="utf-8") if keep else None,
        }
    finally:
        shutil.rmtree(place, ignore_errors=True)
