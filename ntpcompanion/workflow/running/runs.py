"""A notebook under a profile: its parameters, where its outcome is kept, and whether that outcome
still answers.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256, user_path
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.notebook import Notebook, choose, find_notebooks
from ntpcompanion.workflow.notebooks.parameters import resolve
from ntpcompanion.workflow.notebooks.profiles import (
    Profiles,
    check_profile,
    parse_overrides,
    read_profiles,
)
from ntpcompanion.workflow.running.freshness import (
    FILES_READ,
    LIBRARIES_USED,
    KeyParts,
    key,
    key_parts,
    may_be_input,
    what_changed,
)
from ntpcompanion.workflow.running.results import Result, collect_measurements, outputs_digest


@dataclass(frozen=True)
class Run:
    """A notebook under a profile, with its parameters settled. `overrides` is what `-p` gave;
    `folder` is where the outcome is kept, if not in the usual place.
    """

    project: Project
    notebook: Notebook
    profile: str
    parameters: dict[str, object]
    overrides: dict[str, object] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def stem(self) -> Path:
        """Path of the outcome without suffix. Overrides are part of the name: two variants never
        overwrite each other.
        """
        usual = self.project.runs(self.profile, custom=bool(self.overrides))
        variant = "-" + sha256(canonical_json(self.overrides))[:8] if self.overrides else ""
        return (self.folder or usual) / (self.notebook.name + variant)

    @property
    def title(self) -> str:
        return f"Notebook {self.notebook.name!r} ({self.profile})"

    @property
    def executed(self) -> Path:
        """The notebook with its outputs."""
        return self.stem.with_name(self.stem.name + ".ipynb")

    @property
    def results(self) -> Path:
        return self.stem.with_name(self.stem.name + ".json")


def plan(
    project: Project,
    notebook: Notebook,
    profile: str,
    profiles: Profiles,
    overrides: Mapping[str, object] | None = None,
) -> Run:
    """Settle the parameters of a run: notebook defaults, then the profile, then overrides."""
    values = {**profiles.get(notebook.name, {}).get(profile, {}), **(overrides or {})}
    parameters = resolve(notebook.parameters, values, f"Notebook {notebook.name!r}")
    parameters = _absolute_inputs(notebook, parameters, project)
    _require_listed_inputs(notebook, parameters, project)
    # 1 given for a float is 1.0: the same variant
    settled = {name: parameters[name] for name in overrides or {}}
    return Run(project, notebook, profile, parameters, settled)


def chosen_runs(
    project: Project, profile: str, names: Sequence[str] = (), overrides: Sequence[str] = ()
) -> list[Run]:
    """The runs of the named notebooks (default: all) at a profile, with `-p` overrides like
    `"seed=1"`.
    """
    check_profile(profile)
    known = find_notebooks(project)
    profiles = read_profiles(project, known)
    chosen = choose(known, names)
    return [
        plan(project, notebook, profile, profiles, parse_overrides(notebook, overrides))
        for notebook in chosen
    ]


def unused_defaults(run: Run) -> list[str]:
    """A sentence for each default that was edited since the stored run although the profile, or
    `-p`, gives that parameter a value.
    """
    try:
        before = Result.load(run.results).defaults
    except WorkflowError:  # never run, or damaged: nothing to compare with
        return []
    return [
        f"the notebook's {name} = {value!r} is not used at profile {run.profile}: "
        f"{'`-p`' if name in run.overrides else 'notebooks/profiles.yml'} says "
        f"{run.parameters[name]!r}."
        for name, value in run.notebook.defaults.items()
        if value != before.get(name, value) and value != run.parameters[name]
    ]


def stale_reasons(run: Run) -> list[str]:
    """Why the stored outcome of a run does not answer for the present sources; empty when it
    does.
    """
    if not run.results.is_file():
        return ["never run"]
    try:
        result = Result.load(run.results)
        node = load_executed(run.executed)
    except WorkflowError as error:
        return [str(error)]
    if (result.notebook, result.profile) != (run.notebook.name, run.profile):
        return [f"{run.results.name} holds {result.notebook} at profile {result.profile}"]
    parts = present_parts(run, result)
    if result.key != key(parts):
        return what_changed(result.key_parts, parts) or ["the stored key does not match its parts"]
    # in this order: of outputs that were damaged no measurements can be read
    if result.outputs == outputs_digest(node) and result.measurements == collect_measurements(
        node, run.notebook.name
    ):
        return []
    names = f"{run.executed.name} does not match {run.results.name}"
    return [f"{names}: one of them was changed or half-written"]


def current_results(runs: list[Run]) -> dict[str, Result]:
    """The stored results of runs, by notebook, if all answer for the present sources."""
    faults = []
    for run in runs:
        reasons = stale_reasons(run)
        if reasons:
            faults.append(f"{run.notebook.name} ({run.profile}): {'; '.join(reasons)}")
    if faults:
        options = "" if runs[0].profile == "book" else f" --profile {runs[0].profile}"
        for name, value in runs[0].overrides.items():
            options += f" -p {shlex.quote(f'{name}={value}')}"
        raise WorkflowError(
            "Stored results do not answer for the present sources. Run `ntpcompanion "
            f"execute{options}` first.\n" + "\n".join(faults)
        )
    return {run.notebook.name: Result.load(run.results) for run in runs}


def present_parts(run: Run, result: Result) -> KeyParts:
    """What decides the numbers of a run now, with the present content of the files and libraries
    that the stored run was seen to read.
    """
    read, used = (result.key_parts.get(part, {}) for part in (FILES_READ, LIBRARIES_USED))
    return key_parts(run.project, run.notebook, run.parameters, read, used)


def load_executed(path: Path) -> nbformat.NotebookNode:
    try:
        node: nbformat.NotebookNode = nbformat.v4.reads(path.read_text(encoding="utf-8"))
        nbformat.validate(node)  # `nbformat.read` only logs what is invalid
        return node
    except Exception as error:  # nbformat raises whatever its JSON or schema code meets
        raise WorkflowError(
            f"{path} is missing or damaged ({type(error).__name__}): run the notebook again."
        ) from error


def _absolute_inputs(
    notebook: Notebook, parameters: Mapping[str, object], project: Project
) -> dict[str, object]:
    """Paths given on the command line are relative to the user's folder; the kernel runs in a
    folder of its own, where a path below the project's root means the same as there.
    """
    settled = dict(parameters)
    for name in notebook.settings.get("inputs", []):
        if settled[name] is None or not notebook.parameters[name].names_file(settled[name]):
            continue
        path, root = user_path(settled[name]), project.root
        place = Path(os.path.normpath(root / path))
        if may_be_input(project, place):
            if not place.is_relative_to(root) or str(path) != str(settled[name]):
                settled[name] = str(place)
            elif path.is_absolute():  # it is laid out by its path below the root
                settled[name] = place.relative_to(root).as_posix()
        elif may_be_input(project, path):
            settled[name] = str(path.resolve())
    return settled


def _require_listed_inputs(
    notebook: Notebook, parameters: Mapping[str, object], project: Project
) -> None:
    listed = notebook.settings.get("inputs", [])
    for name, value in ((n, v) for n, v in parameters.items() if n not in listed):
        texts = [
            each
            for each in (value if isinstance(value, list) else [value])
            if isinstance(each, str) and each
        ]
        if any(os.path.isfile(project.root / os.path.expanduser(text)) for text in texts):
            alone = isinstance(value, str)
            advice = (
                f"Add `{name}`" if alone else "Give each file a parameter of its own, and add it"
            )
            raise WorkflowError(
                f"Notebook {notebook.name!r}: parameter `{name}` = {value!r} names a file, but is "
                f"not an input. {advice} to the front matter, `ntp: {{inputs: [...]}}`, so "
                "that the notebook runs again when the file changes."
            )
