"""The working folder of a run: copies of the modules that it imports and of the files that it
declares.

A file that is not declared is not there: to read it by a relative path fails at once, whether
Python, a database or a program that the run starts does the reading.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ntpcompanion.workflow.base.environment import package_parents
from ntpcompanion.workflow.base.errors import WorkflowError, explained
from ntpcompanion.workflow.base.files import read_input, sha256, walk_below
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.tracing import state_of
from ntpcompanion.workflow.notebooks.notebook import Notebook

SOURCES = (".py", ".pyi", ".pyc")
INIT = "__init__.py"
EMPTY = "empty folder"
RECORD = "record "  # with a name: an input that is a record
HOW = (
    "Add it to the front matter, `ntp: {{files: [{name}]}}`, or let a parameter name it and list "
    "that under `inputs`; a folder may be named whole."
)
# of every file there: the date at which it was copied is not a property of its content. The second
# day of 1980 in UTC: ZIP files begin with the first one, in the time of the place
DATE = 315619200


@dataclass(frozen=True)
class Layout:
    """`folder` is the current folder of the run, in which files lie as below the project's root;
    modules are imported from `import_path`. `files` are the digests of what was laid out, and
    `origins` says where each was copied from.
    """

    folder: Path
    import_path: tuple[Path, ...]
    files: Mapping[str, str]
    origins: Mapping[str, Path]

    def written(self) -> list[str]:
        """The files that the run has made or changed, except bytecode, relative to the folder."""
        below = [
            name
            for name, kind in contents(self.folder)
            if kind != EMPTY and "__pycache__" not in name.split("/")
        ]
        return [name for name in below if self.files.get(name) != state_of(self.folder / name)]


def lay_out(
    project: Project, folder: Path, modules: Iterable[str], declared: Mapping[str, Path]
) -> Layout:
    """Copy to a new, emptied folder the files of packages and the `declared` files and folders of a
    run, each by its path below the root. `modules` are as `source_hashes` names them; of an entry
    with a colon, which stands for public names of a package, the part before it counts. Beside a
    package its stub is copied, too, which says where its public names are defined.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    import_places = _import_places(project)
    digests, origins = {}, {}
    for source in _package_files(project, modules):
        parent = next(parent for parent in import_places if source.is_relative_to(parent))
        name = Path(import_places[parent], source.relative_to(parent)).as_posix()
        digests[name], origins[name] = _copy(source, folder / name), source
    for name, source in declared.items():
        for below, kind in _contents_or_itself(source):
            place = folder / name / below
            if kind == EMPTY:
                place.mkdir(parents=True, exist_ok=True)
            else:
                full = Path(name, below).as_posix()
                digests[full], origins[full] = _copy(source / below, place), source / below
    return Layout(
        folder, tuple(folder / place for place in import_places.values()), digests, origins
    )


def contents(folder: Path) -> Iterator[tuple[str, str]]:
    """The files below a folder, those behind links too, and its empty folders: relative names in
    order, each with `EMPTY` or an empty text. A link to a folder that holds it is not followed.
    """
    for place, folders, names in walk_below(folder):
        folders.sort()
        relative = place.relative_to(folder)
        for name in sorted(names):
            yield (relative / name).as_posix(), ""
        if not names and not folders:
            yield relative.as_posix(), EMPTY


def _contents_or_itself(place: Path) -> Iterable[tuple[str, str]]:
    return contents(place) if place.is_dir() else [("", "")]


def package_data(project: Project, modules: Iterable[str]) -> dict[str, str]:
    """SHA-256 of each file of data that lies beside one of the modules, or in a folder there
    with no module but an `__init__.py`, such as typefaces; by path relative to the first package.
    """
    digests = {}
    for folder in sorted({(project.package / _file(name)).parent for name in modules}):
        for path in _data_beside(Path(os.path.normpath(folder))):
            digests[Path(os.path.relpath(path, project.package)).as_posix()] = sha256(
                read_input(path)
            )
    return digests


def _package_files(project: Project, modules: Iterable[str]) -> list[Path]:
    named = {Path(os.path.normpath(project.package / _file(name))) for name in modules}
    beside = [path for folder in {each.parent for each in named} for path in _data_beside(folder)]
    stubs = [stub for each in named if (stub := each.with_name("__init__.pyi")).is_file()]
    return sorted({*named, *beside, *stubs})


def _file(name: str) -> str:
    return name.partition(":")[0]


def _data_beside(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith((".", "__pycache__")):
            continue
        if entry.is_file() and entry.suffix not in SOURCES:
            yield entry
        elif entry.is_dir() and (modules := list(entry.glob("*.py"))) in ([], [entry / INIT]):
            yield from modules  # a package of data
            yield from _data_beside(entry)


def _import_places(project: Project) -> dict[Path, str]:
    """Where modules of a folder lie in a layout: as below the root; those from elsewhere apart."""
    return {
        parent: parent.relative_to(project.root).as_posix()
        if parent.is_relative_to(project.root)
        else f".packages/{number}"
        for number, parent in enumerate(package_parents(project))
    }


def _copy(source: Path, target: Path) -> str:
    """Copy a file with its permissions, dated `DATE`; SHA-256 of the copy."""
    unread = f"{source} cannot be copied for the run: {{}}. Correct its permissions, or free"
    with explained(f"{unread} some space."):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        shutil.copymode(source, target)
        os.utime(target, (DATE, DATE))
    return state_of(target)


def listed_files(project: Project, notebook: Notebook) -> dict[str, Path]:
    """The files and folders under `files` in the front matter, by their paths below the root."""
    where = f"Notebook {notebook.name!r}: `files` in its front matter"
    return files_below_root(project, notebook.settings.get("files", []), where)


def files_below_root(project: Project, names: Iterable[str], where: str) -> dict[str, Path]:
    """The files and folders of these names, by their paths below the root."""
    listed = {}
    for listed_name in names:
        name = Path(os.path.normpath(listed_name)).as_posix()
        named = f"{where} names {listed_name!r}"
        if Path(listed_name).is_absolute() or name == "." or name.split("/")[0] == "..":
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
    """SHA-256 of every file of some files and folders; of an empty folder the text `EMPTY`."""
    digests = {}
    for name, place in paths.items():
        for below, kind in _contents_or_itself(place):
            digests[Path(name, below).as_posix()] = kind or state_of(place / below)
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
    """The inputs but records that lie outside of the project, which a run reads where they are."""
    return [
        str(place)
        for name, place in inputs.items()
        if not name.startswith(RECORD)
        and not Path(os.path.normpath(place)).is_relative_to(project.root)
    ]
