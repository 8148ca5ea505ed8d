"""What a campaign runs: a notebook under a profile, or an experiment.

Both have a `name` for files, `read` a value of the command line, check given values before anything
is started and settle them as `points`.

An experiment is a module of the book's experiments, `PACKAGE.experiments.NAME`, that defines a
class `Plan`, a class `Result` and a function `run(plan)`. `Plan.from_json` reads parameters and
raises ValueError with a sentence for each fault, and so does `Result.from_json` with a stored
result; a plan, and what `run` returns, have `to_json`. A `run` that takes an argument `checkpoint`
can resume within itself.

A task runs in a folder of its own. The files and folders of the project that it reads are named by
`FILES = ("data/words.txt",)` in the module; `INPUTS = ("text",)` lists fields of the plan that name
others.
"""

import dataclasses
import importlib
import importlib.util
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from ntpcompanion.spelling import known_as, nearest
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256
from ntpcompanion.workflow.base.processes import Lifeline
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import library_versions
from ntpcompanion.workflow.hashing.imported_files import source_hashes
from ntpcompanion.workflow.notebooks.notebook import Notebook, find_notebooks, notebook_paths
from ntpcompanion.workflow.notebooks.parameters import (
    NO_LITERAL,
    literal,
    lookup,
    parse_value,
)
from ntpcompanion.workflow.notebooks.profiles import Profiles, check_profile, read_profiles
from ntpcompanion.workflow.running.execute import execute
from ntpcompanion.workflow.running.freshness import (
    FILES_READ,
    LIBRARIES_USED,
    input_hashes,
    key_parts,
)
from ntpcompanion.workflow.running.results import Result
from ntpcompanion.workflow.running.runs import plan
from ntpcompanion.workflow.sweeps.executors import NotDone, Outcome
from ntpcompanion.workflow.sweeps.task_process import project_here, run_experiment, settings_of

PARTS = ("Plan", "Result", "run")


def experiment_module(project: Project, name: str) -> str:
    """The full name of the module of an experiment of a book, which may lie in a package below that
    of the experiments.
    """
    # no file is read: every record of a book is asked for its experiment
    modules = {path.stem: full for path, full in _modules(project)}
    return f"{project.experiments}.{modules.get(name, name)}"


def load_experiment(project: Project, name: str) -> ModuleType:
    module = experiment_module(project, name)
    try:
        experiment = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise WorkflowError(f"{module} cannot be imported: {error}.") from error
        known = known_experiments(project)
        raise WorkflowError(
            f"`experiment: {name}` is not a module of {project.experiments}.{nearest(name, known)} "
            f"Known: {', '.join(known) or 'none'}."
        ) from error
    except Exception as error:
        raise WorkflowError(
            f"{module} cannot be imported ({type(error).__name__}: {error})."
        ) from error
    if missing := [part for part in PARTS if not callable(getattr(experiment, part, None))]:
        raise WorkflowError(
            f"{module} is not an experiment: it defines no {' and no '.join(missing)}. An "
            "experiment defines a class `Plan`, a class `Result` and a function `run(plan)`."
        )
    return experiment


def read_plan(experiment: ModuleType, point: dict[str, Any]) -> Any:
    try:
        return experiment.Plan.from_json(point)
    except ValueError as error:
        raise WorkflowError(f"{point} is not a plan of {experiment.__name__}: {error}") from error


def declared_inputs(experiment: ModuleType, plan: Any) -> list[str]:
    """The files and folders that an experiment reads at a point: those under `FILES` of its module,
    and the values of the fields of its plan that `INPUTS` of its module lists, unless they name a
    module that can be imported.
    """
    fields = getattr(experiment, "INPUTS", ())
    if unknown := [name for name in fields if not hasattr(plan, name)]:
        raise WorkflowError(
            f"{experiment.__name__}: `INPUTS` lists {unknown[0]!r}, which is not a field of its "
            f"plan.{nearest(unknown[0], type(plan).model_fields)}"
        )
    values = [getattr(plan, name) for name in fields]
    several = [value if isinstance(value, list | tuple) else [value] for value in values]
    files = [name for each in several for name in each if name and not _is_module(name)]
    return [*getattr(experiment, "FILES", ()), *files]


def _is_module(name: str) -> bool:
    """Whether a text is the dotted name of a module, as `pydoc_data.topics`; what stands before
    its last dot is imported.
    """
    parts = name.split(".")
    if len(parts) == 1 or not all(part.isidentifier() for part in parts):
        return False
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:  # whatever that raises
        return False


def known_experiments(project: Project) -> list[str]:
    """The names of the experiments of a book, found without importing them."""
    run = re.compile(rb"^def run\(", flags=re.MULTILINE)
    return [path.stem for path, _ in _modules(project) if run.search(path.read_bytes())]


def _modules(project: Project) -> list[tuple[Path, str]]:
    """The modules below the package of the experiments, with their names relative to it."""
    first, *rest = project.experiments.split(".")
    folders = [place.joinpath(*rest) for place in project.packages if place.name == first]
    return [
        (path, ".".join(path.relative_to(folder).with_suffix("").parts))
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
    ]


@dataclass(frozen=True)
class Point:
    """One run of a campaign: what was given, all parameters, a hash of what decides its numbers,
    and what makes its outcome, given a `place` for its files and a `lifeline` that its processes
    must not outlive (None on a cluster). The data files of an experiment are not in the hash: the
    journal has their digests.
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
        return f"{self.notebook.name}-{self.profile}"

    def read(self, parameter: str, text: str) -> object:
        where = f"Notebook {self.notebook.name!r}"
        return parse_value(lookup(self.notebook.parameters, parameter, where), text, where)

    def takes_text(self, parameter: str) -> bool:
        return isinstance(self.notebook.defaults.get(parameter), str)

    def points(self, overrides: list[dict[str, Any]]) -> list[Point]:
        where = self.project, self.notebook, self.profile, self.profiles
        runs = [plan(*where, point) for point in overrides]
        parts = key_parts(self.project, self.notebook, runs[0].parameters)
        same = {name: parts[name] for name in parts if name not in ("parameters", "inputs")}
        points = []
        for run in runs:
            inputs = input_hashes(self.project, self.notebook, run.parameters)
            key = sha256(canonical_json([same, self.profile, run.parameters, inputs]))
            named = self.project, self.notebook.name, self.profile, run.overrides, key
            points.append(Point(run.overrides, run.parameters, key, partial(execute_point, *named)))
        return points


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
        field = load_experiment(self.project, self.name).Plan.model_fields.get(parameter)
        return field is not None and field.annotation is str

    def points(self, overrides: list[dict[str, Any]]) -> list[Point]:
        experiment = load_experiment(self.project, self.name)
        module = experiment.__name__
        sources = source_hashes(f"import {module}", *self.project.packages)
        libraries = library_versions(self.project.settings.libraries)
        settings = settings_of(self.project)
        same, points = [module, sources, libraries, settings], []
        for override in overrides:
            plan = read_plan(experiment, override)
            settled, inputs = plan.to_json(), declared_inputs(experiment, plan)
            key = sha256(canonical_json([same, settled]))
            named = self.project, module, sources, settings, inputs, override
            points.append(Point(override, settled, key, partial(run_experiment, *named)))
        return points


Target = NotebookTarget | ExperimentTarget


def find_target(project: Project, name: str, profile: str | None) -> Target:
    """The notebook or the experiment of that name; `notebooks/NAME` and `experiments/NAME` say
    which where both have it.
    """
    folder, _, bare = name.rpartition("/")
    if folder not in ("", "notebooks", "experiments"):
        raise WorkflowError(f"{name!r}: write notebooks/{bare} or experiments/{bare}.")
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


def execute_point(
    project: Project,
    name: str,
    profile: str,
    overrides: dict[str, Any],
    key: str,
    *,
    place: Path,
    lifeline: Lifeline | None,
) -> Outcome:
    """Execute a notebook in the project of the process that this runs in: what it claims, the other
    files that it read. Raises NotDone if the run is not the one that was planned.
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
            "libraries": result.key_parts[LIBRARIES_USED],
        }
    finally:
        shutil.rmtree(place, ignore_errors=True)
