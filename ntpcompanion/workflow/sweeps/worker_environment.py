"""What decides numbers where a task runs: sources, versions and variables, of this process or of a
worker elsewhere.
"""

import dataclasses
import functools
import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import library_versions, python_minor
from ntpcompanion.workflow.hashing.elsewhere import file_hashes


@dataclass(frozen=True)
class Requirements:
    """What must be equal where tasks run: sources of the `packages`, versions of the `libraries`,
    and the `variables` of the environment that tasks may read.
    """

    packages: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


def requirements_of(project: Project) -> Requirements:
    """Those of a project: its packages and the one that runs this, the libraries, and the variables
    that the settings of the book name.
    """
    names = [__name__.partition(".")[0], *(folder.name for folder in project.packages)]
    settings = project.settings
    return Requirements(
        tuple(dict.fromkeys(names)), settings.libraries, tuple(settings.environment)
    )


def environment(required: Requirements) -> dict[str, str]:
    """What decides numbers in this process: SHA-256 of each source file of the packages, Python,
    the libraries without the suffix of their build (`2.9.0+cu128` is `2.9.0`), and the start of a
    SHA-256 of each variable, whose value may be a secret.

    Raises
    ------
    WorkflowError
        a package that is not installed here.
    """
    facts = {"Python": python_minor()}
    for name, version in library_versions(required.libraries).items():
        facts[name] = version.partition("+")[0]
    for name in required.variables:
        if name in os.environ:
            facts[f"the variable {name}"] = f"with the hash {sha256(os.environ[name])[:8]}"
    for package in required.packages:
        files = file_hashes(package_folder(package)).items()
        facts |= {f"{package}/{name}": value for name, value in files if name.endswith(".py")}
    return facts


@functools.cache
def environment_at_first(required: Requirements) -> dict[str, str]:
    """The environment when this process was first asked for it: it keeps the modules that it has
    loaded, whatever becomes of their files.
    """
    return environment(required)


def digest(facts: dict[str, str]) -> str:
    """One hash of an environment."""
    return sha256(canonical_json(facts))


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """The first few entries that differ, in words."""
    names = [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]
    shown = [
        name
        if "/" in name
        else f"{name} {theirs.get(name, 'missing')} instead of {ours.get(name, 'none')}"
        for name in names[:3]
    ]
    return ", ".join(shown) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def package_folder(package: str) -> Path:
    """The folder of an installed package. Raises WorkflowError if there is none."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise WorkflowError(f"the package {package!r} is not installed there")
    return Path(next(iter(spec.submodule_search_locations)))


def project_here(project: Project) -> Project:
    """The project of the command, or on another machine that of the installed packages."""
    if project.notebooks.is_dir():
        return project
    first, *others = (package_folder(folder.name) for folder in project.packages)
    return dataclasses.replace(
        project, root=Project.find(first).root, package=first, others=tuple(others)
    )
