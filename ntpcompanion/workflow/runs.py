"""A notebook under a profile: its parameters, where its outcome is kept, and whether that outcome still answers."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from ntpcompanion.workflow.errors import WorkflowError
from ntpcompanion.workflow.files import canonical_json, sha256, user_path
from ntpcompanion.workflow.freshness import key, key_parts, what_changed
from ntpcompanion.workflow.notebooks import Notebook
from ntpcompanion.workflow.parameters import resolve
from ntpcompanion.workflow.project import Project
from ntpcompanion.workflow.results import Result, outputs_digest


@dataclass(frozen=True)
class Run:
    """A notebook under a profile, with its parameters settled. `overrides` is what `-p` gave."""

    project: Project
    notebook: Notebook
    profile: str
    parameters: dict
    overrides: dict = field(default_factory=dict)

    @property
    def stem(self) -> Path:
        """Path of the outcome without suffix. Overrides are part of the name: two variants never overwrite each other."""
        folder = self.project.runs(self.profile, custom=bool(self.overrides))
        variant = "-" + sha256(canonical_json(self.overrides))[:8] if self.overrides else ""
        return folder / (self.notebook.name + variant)

    @property
    def page(self) -> Path:
        """The executed notebook."""
        return self.stem.with_name(self.stem.name + ".ipynb")

    @property
    def results(self) -> Path:
        """The results file beside it."""
        return self.stem.with_name(self.stem.name + ".json")


def plan(project: Project, notebook: Notebook, profile: str, profiles: Mapping, overrides: Mapping | None = None) -> Run:
    """Settle the parameters of a run: notebook defaults, then the profile, then overrides."""
    given = {**profiles.get(notebook.name, {}).get(profile, {}), **(overrides or {})}
    parameters = resolve(notebook.parameters, given, f"Notebook {notebook.name!r}")
    settled = {name: parameters[name] for name in overrides or {}}  # 1 given for a float is 1.0: the same variant
    return Run(project, notebook, profile, _absolute_inputs(notebook, parameters, project), settled)


def stale_reasons(run: Run) -> list[str]:
    """Why the stored outcome of a run does not answer for the present sources; empty when it does."""
    if not run.results.is_file():
        return ["never run"]
    try:
        result = Result.load(run.results)
        node = load_executed(run.page)
    except WorkflowError as error:
        return [str(error)]
    if (result.notebook, result.profile) != (run.notebook.name, run.profile):
        return [f"{run.results.name} holds {result.notebook} at profile {result.profile}"]
    parts = key_parts(run.project, run.notebook, run.parameters)
    if result.key != key(parts):
        return what_changed(result.key_parts, parts) or ["the stored key does not match its parts"]
    if result.outputs != outputs_digest(node):
        return [f"{run.page.name} does not match {run.results.name}: one of them was changed or half-written"]
    return []


def load_executed(path: Path) -> nbformat.NotebookNode:
    """Read an executed notebook. Raises WorkflowError if it is missing or damaged."""
    try:
        node = nbformat.v4.reads(path.read_text(encoding="utf-8"))
        nbformat.validate(node)  # `nbformat.read` only logs what is invalid
        return node
    except Exception as error:  # nbformat raises whatever its JSON or schema code meets
        raise WorkflowError(f"{path} is missing or damaged ({type(error).__name__}): run the notebook again.") from error


def _absolute_inputs(notebook: Notebook, parameters: dict, project: Project) -> dict:
    """Paths given on the command line are relative to the user's folder; the kernel runs in the project's root."""
    settled = dict(parameters)
    for name in notebook.settings.get("inputs", []):
        here = user_path(settled[name])
        if not os.path.isfile(project.root / here) and os.path.isfile(here):
            settled[name] = str(here.resolve())
    return settled
