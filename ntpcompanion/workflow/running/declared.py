"""What a run declares: the files and folders that it is given, and by what name it knows them."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import hash_of
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.running.layout import contents

RECORD = "record "  # with a name: an input that is a record
HOW = (
    "Add it to the front matter, `ntp: {{files: [{name}]}}`, or let a parameter name it and list "
    "that under `inputs`; a folder may be named whole."
)


def listed_files(project: Project, notebook: Notebook) -> dict[str, Path]:
    """The files and folders under `files` in the front matter, by their paths below the root.
    Raises WorkflowError as `files_below_root`.
    """
    where = f"Notebook {notebook.name!r}: `files` in its front matter"
    return files_below_root(project, notebook.settings.get("files", []), where)


def files_below_root(project: Project, names: Iterable[str], where: str) -> dict[str, Path]:
    """The files and folders of these names, by their paths below the root.

    Raises
    ------
    WorkflowError
        a path that is missing, that leaves the project, or that is the project.
    """
    listed = {}
    for listed_name in names:
        name, named = (
            Path(os.path.normpath(listed_name)).as_posix(),
            f"{where} names {listed_name!r}",
        )
        if Path(listed_name).is_absolute() or name == "." or name.startswith(".."):
            raise WorkflowError(
                f"{named}, which is not a path below {project.root}. Name a file or folder of "
                "the project; for one elsewhere let a parameter name it, under `inputs`."
            )
        place = project.root / name
        if not place.exists():
            raise WorkflowError(f"{named}, but there is no {place}. Correct the path, or make it.")
        if project.build.resolve().is_relative_to(place.resolve()):
            raise WorkflowError(f"{named}, which holds what is built. Name a smaller folder.")
        listed[name] = place
    return listed


def file_digests(paths: Mapping[str, Path]) -> dict[str, str]:
    """SHA-256 of every file of some files and folders; of an empty folder a word."""
    digests = {}
    for name, place in paths.items():
        for below, kind in contents(place) if place.is_dir() else [("", "")]:
            digests[Path(name, below).as_posix()] = kind or hash_of(place / below)
    return digests


def laid_out_files(
    project: Project, notebook: Notebook, inputs: Mapping[str, Path]
) -> dict[str, Path]:
    """What a run finds in its folder, by path below the root of the project: the listed files, its
    inputs and records that lie in the project, and its own text.
    """
    within = {
        place.relative_to(project.root).as_posix(): place
        for place in map(Path, map(os.path.normpath, inputs.values()))
        if place.is_relative_to(project.root)
    }
    notebook_path = notebook.path.relative_to(project.root).as_posix()
    return {notebook_path: notebook.path, **listed_files(project, notebook), **within}


def elsewhere(project: Project, inputs: Mapping[str, Path]) -> list[str]:
    """The inputs that lie outside of the project, which a run reads where they are."""
    return [
        str(place)
        for name, place in inputs.items()
        if not name.startswith(RECORD)
        and not Path(os.path.normpath(place)).is_relative_to(project.root)
    ]
