"""Experiments found by name: a module of the book's experiments, `PACKAGE.experiments.NAME`, that
defines a class `Plan`, a class `Result` and a function `run(plan)`.

`Plan.from_json` reads parameters and raises ValueError with a sentence for each fault, and so does
`Result.from_json` with a stored result; a plan, and what `run` returns, have `to_json`. A `run`
that takes an argument `checkpoint` can resume within itself.

A task runs in a folder of its own. The files and folders of the project that it reads are named by
`FILES = ("data/words.txt",)` in the module; `INPUTS = ("text",)` lists fields of the plan that name
others.
"""

import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from ntpcompanion.spelling import nearest
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project

PARTS = ("Plan", "Result", "run")


def experiment_module(project: Project, name: str) -> str:
    """The full name of the module of an experiment of a book, which may lie in a package below that
    of the experiments.
    """
    # no file is read: every record of a book is asked for its experiment
    modules = {path.stem: full for path, full in _modules(project)}
    return f"{project.experiments}.{modules.get(name, name)}"


def load_experiment(project: Project, name: str) -> ModuleType:
    """Import an experiment of a book by its name. Raises WorkflowError for no such module, one that
    fails on import, and one without `Plan`, `Result` or `run`.
    """
    module = experiment_module(project, name)
    try:
        experiment = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
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
    """The plan of a point. Raises WorkflowError with the faults of all fields if it is not one."""
    try:
        return experiment.Plan.from_json(point)
    except ValueError as error:
        raise WorkflowError(f"{point} is not a plan of {experiment.__name__}: {error}") from error


def declared_inputs(experiment: ModuleType, plan: Any) -> list[str]:
    """The files and folders that an experiment reads at a point: those under `FILES` of its module,
    and the values of the fields of its plan that `INPUTS` of its module lists, unless they name a
    module that can be imported. Raises WorkflowError for a name that is not a field of the plan.
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
    """Whether a text is the dotted name of a module, as `pydoc_data.topics`."""
    parts = name.split(".")
    if len(parts) == 1 or not all(part.isidentifier() for part in parts):
        return False
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:  # of what stands before the last dot
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
