"""Experiments found by name: a module of the book's experiments, `PACKAGE.experiments.NAME`, that
defines a class `Plan`, a class `Result` and a function `run(plan)`.

`Plan.from_json` reads parameters and raises ValueError with a sentence for each fault; what `run`
returns has `to_json`. A `run` that takes an argument `checkpoint` can resume within itself.
"""

import importlib
import inspect
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from ntpcompanion.spelling import nearest
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import as_json
from ntpcompanion.workflow.base.project import Project

PARTS = ("Plan", "Result", "run")


def experiment_module(project: Project, name: str) -> str:
    """The full name of the module of an experiment of a book, which may lie in a package below that
    of the experiments.
    """
    # no file is read: every record of a book is asked for its experiment
    modules = {path.stem: full for path, full in _modules(project)}
    return f"{project.experiments}.{modules.get(name, name)}"


def load_experiment(module: str) -> ModuleType:
    """Import an experiment by the full name of its module.

    Raises
    ------
    WorkflowError
        no such module, one that fails on import, or one without `Plan`, `Result` or `run`.
    """
    folder, _, name = module.rpartition(".")
    try:
        experiment = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise WorkflowError(f"{module} cannot be imported: {error}.") from error
        known = _known(folder)
        raise WorkflowError(
            f"`experiment: {name}` is not a module of {folder}.{nearest(name, known)} Known: "
            f"{', '.join(known) or 'none'}."
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


def read_points(module: str, points: Sequence[dict[str, Any]]) -> list[Any]:
    """The plan of every point of a grid, before anything is started.

    Raises
    ------
    WorkflowError
        as `load_experiment`; or for the first point that is not a plan, with the faults of all its
        fields.
    """
    plan, plans = load_experiment(module).Plan, []
    for point in points:
        try:
            plans.append(plan.from_json(point))
        except ValueError as error:
            raise WorkflowError(f"{point} is not a plan of {module}: {error}") from error
    return plans


def run_point(module: str, point: dict[str, Any], checkpoint: Path) -> object:
    """Run an experiment at one point of a grid; its result as JSON gives it back.

    The folder `checkpoint` is made if `run` takes an argument of that name.

    Raises
    ------
    ValueError
        what `run` returned cannot be kept as JSON.
    """
    experiment, extra = load_experiment(module), {}
    if "checkpoint" in inspect.signature(experiment.run).parameters:
        checkpoint.mkdir(parents=True, exist_ok=True)
        extra["checkpoint"] = checkpoint
    result = experiment.run(experiment.Plan.from_json(point), **extra)
    try:
        return as_json(result.to_json())
    except ValueError as error:
        raise ValueError(
            f"what it returned cannot be kept. {error}. Return numbers that are finite, texts, "
            "lists and dicts of them"
        ) from error


def known_experiments(project: Project) -> list[str]:
    """The names of the experiments of a book, found without importing them."""
    return [path.stem for path, _ in _modules(project) if _has_run(path)]


def _modules(project: Project) -> list[tuple[Path, str]]:
    """The modules below the package of the experiments, with their names relative to it."""
    first, *rest = project.experiments.split(".")
    return _below(package.joinpath(*rest) for package in project.packages if package.name == first)


def _known(package: str) -> list[str]:
    try:
        paths = importlib.import_module(package).__path__
    except (ImportError, AttributeError):
        return []
    return [path.stem for path, _ in _below(map(Path, paths)) if _has_run(path)]


def _below(folders: Iterable[Path]) -> list[tuple[Path, str]]:
    return [
        (path, ".".join(path.relative_to(folder).with_suffix("").parts))
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
    ]


def _has_run(path: Path) -> bool:
    return re.search(rb"^def run\(", path.read_bytes(), flags=re.MULTILINE) is not None
