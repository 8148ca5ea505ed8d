"""The project where a task runs, and the data files that the task has read: named by their place
in the project, with their digests.
"""

import dataclasses
import functools
import importlib.util
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import sha256
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import library_versions, python_minor
from ntpcompanion.workflow.base.tracing import outside, read_events, state_of
from ntpcompanion.workflow.hashing.elsewhere import folder_hash
from ntpcompanion.workflow.running.freshness import place_name
from ntpcompanion.workflow.running.surroundings import RUNNING

CHANGED = "changed"


def inputs_read(project: Project, log: Path, sources: Iterable[str]) -> dict[str, str]:
    """The digest of each file that a task has read, and of the names in each folder that it has
    listed, by name; without what lies below `_build` or beside the log, the package that runs this,
    and the `sources` of packages, which are named relative to the first of them.

    A file, of the sources too, that had another content when it was read than it has now has the
    digest `CHANGED`, which fits no file.
    """
    known = {(project.package / name.partition(":")[0]).resolve() for name in sources}
    tool = [] if RUNNING in project.packages else [RUNNING]
    counts = outside([*map(str, (project.build, log.parent, *tool))])
    read = {}
    for name, digests in sorted(read_events(log).read.items()):
        path = Path(name)
        digest = digests[0] if digests == [state_of(path)] else CHANGED
        if counts(name) and (digest == CHANGED or path not in known):
            read[place_name(project, name)] = digest
    return read


def present_digests(project: Project) -> Callable[[str], str]:
    """A function: the digest that the file of a name has now. Each file is read once."""
    return functools.cache(lambda name: state_of(project.root / name))


def changed_inputs(digest: Callable[[str], str], read: Mapping[str, str]) -> list[str]:
    """The names of the files whose `digest` now is not that of what was `read`."""
    return [name for name, seen in read.items() if digest(name) != seen]


@functools.cache
def _tool_hash() -> str:
    """Of the package that runs this, when this process was first asked."""
    return folder_hash(RUNNING)


def settings_of(project: Project) -> dict[str, str]:
    """What decides numbers here beside sources and data: Python, the libraries without the suffix
    of their build (`2.9.0+cu128` is `2.9.0`), the start of a SHA-256 of each variable that tasks
    may read, whose value may be a secret, and that of the package that runs this where it is a
    library.
    """
    tool = {} if RUNNING in project.packages else {RUNNING.name: f"#{_tool_hash()[:8]}"}
    versions = library_versions(project.settings.libraries).items()
    variables = filter(os.environ.__contains__, project.settings.environment)
    return {
        "Python": python_minor(),
        **tool,
        **{name: version.partition("+")[0] for name, version in versions},
        **{f"the variable {name}": f"#{sha256(os.environ[name])[:8]}" for name in variables},
    }


def package_folder(package: str) -> Path:
    """The folder of an installed package. Raises WorkflowError if there is none."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise WorkflowError(f"the package {package!r} is not installed there")
    return Path(next(iter(spec.submodule_search_locations)))


def project_here(project: Project, place: Path) -> tuple[Project, Path]:
    """The project of the command and a place below it, or on another machine those of the installed
    packages.
    """
    if project.notebooks.is_dir():
        return project, place
    first, *others = (package_folder(folder.name) for folder in project.packages)
    root = Project.find(first).root
    moved = dataclasses.replace(project, root=root, package=first, others=tuple(others))
    return moved, root / place.relative_to(project.root)
