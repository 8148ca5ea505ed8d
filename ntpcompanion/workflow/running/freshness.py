"""When a stored run still answers for the present sources, and what changed when it does not."""

import importlib.util
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ntpcompanion.spelling import nearest
from ntpcompanion.workflow.base.environment import named
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import (
    canonical_json,
    names_beside,
    read_input,
    read_sealed,
    sha256,
    user_path,
)
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import library_states, library_versions, python_minor
from ntpcompanion.workflow.base.tracing import state_of
from ntpcompanion.workflow.hashing.imported_files import source_hashes
from ntpcompanion.workflow.notebooks.notebook import Notebook, imported_modules
from ntpcompanion.workflow.notebooks.parameters import FILE
from ntpcompanion.workflow.running.layout import RECORD, file_digests, listed_files, package_data

FILES_READ, LIBRARIES_USED = "files read", "libraries used"
KeyParts = Mapping[str, Any]  # what decides the numbers of a run, by name, as JSON has it


def key_parts(
    project: Project,
    notebook: Notebook,
    parameters: Mapping[str, object],
    read: Iterable[str] = (),
    used: Iterable[str] = (),
) -> KeyParts:
    """Everything that decides the numbers of a run, by name: what is laid out for it, the
    environment in which it runs, and what else it was seen to read. Prose, captions and
    expectations are not among it.

    `read` names the other files and folders that the last run was seen to read, relative to the
    project's root where they lie below it, and `used` the distributions that it imported.
    """
    sources = source_hashes(imported_modules(notebook.node), *project.packages)
    libraries = project.settings.libraries
    return {
        "code cells": notebook.code_digest(),
        "parameters": dict(parameters),
        "package source": sources,
        "package data": package_data(project, sources),
        "libraries": library_versions(libraries),
        "library files": library_states(libraries),
        LIBRARIES_USED: library_states(set(used) - set(libraries)),
        "environment": {name: sha256(value) for name, value in named(project).items()},
        "python": python_minor(),
        "files": file_digests(listed_files(project, notebook)),
        "inputs": input_hashes(project, notebook, parameters),
        FILES_READ: {name: state_of(project.root / name) for name in read},
    }


def key(parts: KeyParts) -> str:
    return sha256(canonical_json(parts))


def what_changed(old: KeyParts, new: KeyParts) -> list[str]:
    """A line for each part that differs, with the file, library or parameter named."""
    lines = []
    for part, after in new.items():
        before = old.get(part)
        if isinstance(after, dict) and isinstance(before, dict):
            names = sorted(n for n in {*before, *after} if _differ(n, before, after))
            lines += [f"{part}: {_difference(name, before, after)}" for name in names]
        elif before != after:
            long = len(str(after)) > 20
            lines.append(f"{part}: changed" if long else f"{part}: {before} → {after}")
    return lines


def input_hashes(
    project: Project, notebook: Notebook, parameters: Mapping[str, object]
) -> dict[str, str]:
    """SHA-256 of the content of every input that the front matter names, whatever its file or
    folder is called; of a record that of its results: who made or verified them moves no number.
    """
    inputs = input_files(project, notebook, parameters)
    return {name: _content_hash(name, path) for name, path in inputs.items()}


def _content_hash(name: str, path: Path) -> str:
    if name.startswith(RECORD):
        return sha256(canonical_json(read_sealed(path).get("results")))
    return sha256(canonical_json(file_digests({"": path})) if path.is_dir() else read_input(path))


def input_files(
    project: Project, notebook: Notebook, parameters: Mapping[str, object]
) -> dict[str, Path]:
    """The files of the inputs and records that the front matter names."""
    files = {
        name: _input_path(project, name, parameters[name], notebook)
        for name in notebook.settings.get("inputs", [])
        if parameters[name] is not None and notebook.parameters[name].names_file(parameters[name])
    }
    for name in notebook.settings.get("records", []):
        path = project.records / f"{name}.json"
        if not path.is_file():
            raise WorkflowError(
                f"Notebook {notebook.name!r} shows the record {name!r}, but {path} is missing."
                f"{nearest(path.name, names_beside(path))} Make it with `ntpcompanion record "
                f"{name}`."
            )
        files[f"{RECORD}{name}"] = path
    return files


def other_files(
    project: Project,
    notebook: Notebook,
    parameters: Mapping[str, object],
    parts: KeyParts,
    read: Mapping[str, list[str]],
) -> dict[str, str]:
    """The digests of what a run read outside of its folder, its inputs left out; `read` is what its
    processes wrote down.
    """
    inputs = input_files(project, notebook, parameters)
    known = {
        str(path.resolve()): parts["inputs"][name]
        for name, path in inputs.items()
        if not path.is_dir() and not name.startswith(RECORD)
    }
    changed = [
        path
        for path, digests in read.items()
        if digests != [known.get(path) or state_of(Path(path))]
    ]
    if changed:
        names = ", ".join(place_name(project, path) for path in changed)
        raise WorkflowError(
            f"Notebook {notebook.name!r}: {names} changed while it ran. Nothing was stored; run it "
            "again."
        )
    whole = tuple(f"{path.resolve()}{os.sep}" for path in inputs.values() if path.is_dir())
    return {
        place_name(project, path): digests[0]
        for path, digests in sorted(read.items())
        if path not in known and not f"{path}{os.sep}".startswith(whole)
    }


def place_name(project: Project, path: str) -> str:
    """A resolved path as key parts name it: relative to the project's root if it lies below."""
    place, root = Path(path), project.root.resolve()
    return place.relative_to(root).as_posix() if place.is_relative_to(root) else path


def may_be_input(project: Project, path: Path) -> bool:
    """Whether a path is that of a file, or of a folder that does not hold the project."""
    # unlike `Path.is_file`, it takes every text: one that is too long for a name is not a file
    return os.path.isfile(path) or (
        os.path.isdir(path) and not project.root.resolve().is_relative_to(os.path.realpath(path))
    )


def _input_path(project: Project, name: str, value: object, notebook: Notebook) -> Path:
    path = project.root / user_path(value)
    if may_be_input(project, path):
        return path
    try:
        spec = importlib.util.find_spec(str(value))
    except Exception:  # for `a.b` the package `a` is imported, which may raise anything
        spec = None
    if spec is None or not spec.origin or not Path(spec.origin).is_file():
        known = notebook.parameters[name].domain
        words = [word for word in known.words if word != FILE] if known else []
        if words:
            fault = f"none of {', '.join(words)}, and no file.{nearest(str(value), words)}"
        else:
            fault = f"neither a file nor a Python module.{nearest(path.name, names_beside(path))}"
            fault += " Give the path of a file or folder."
        raise WorkflowError(
            f"Notebook {notebook.name!r}: parameter `{name}` = {value!r} is {fault}"
        )
    return Path(spec.origin)


def _differ(name: str, before: Mapping[str, object], after: Mapping[str, object]) -> bool:
    """Whether JSON tells two values apart, or one is missing."""
    both = name in before and name in after
    return not both or canonical_json(before[name]) != canonical_json(after[name])


def _difference(name: str, before: Mapping[str, object], after: Mapping[str, object]) -> str:
    if name not in before:
        return f"{name} is new"
    if name not in after:
        return f"{name} is gone"
    short = all(len(str(side[name])) <= 40 for side in (before, after))
    return f"{name}: {before[name]!r} → {after[name]!r}" if short else f"{name} changed"
