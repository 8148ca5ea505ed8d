"""Which files of the book's packages a piece of code depends on: its imports, and theirs."""

import os
from collections.abc import Iterable
from pathlib import Path

from ntpcompanion.workflow.base.files import read_input, sha256
from ntpcompanion.workflow.hashing.elsewhere import file_hashes, may_look_for_modules
from ntpcompanion.workflow.hashing.purity import DECORATOR
from ntpcompanion.workflow.hashing.stub_names import Package, not_python
from ntpcompanion.workflow.hashing.used_names import NO_PYTHON, belonging, names_used

# they evaluate what stands in annotations, and load no module
EVALUATE = {DECORATOR, "ntpcompanion.annotation_checks"}


def source_hashes(code: str, *packages: Path) -> dict[str, str]:
    """A hash of every file of the `packages` that `code` imports, directly or not, by path relative
    to the first of them; and where the names that it takes from public names are defined.

    A name imported from a package that loads its names late leads to the module that defines it,
    not to the whole package: the entry `"sub/__init__.pyi: name"` holds that module. Imports
    inside functions count. Where a file may look for modules by names that cannot be seen here, all
    files of its package count. Raises WorkflowError naming a file that is not Python.
    """
    known = {folder.name: Package(folder) for folder in packages}
    # `../other/module.py` for a second package
    above = {folder.name: Path(os.path.relpath(folder, packages[0])) for folder in packages}
    todo = _tracked(names_used(code), known)
    done: set[str] = set()
    read: set[Path] = set()
    hashes: dict[str, str] = {}
    while todo:
        name = todo.pop()
        done.add(name)
        first = name.partition(".")[0]
        for place in known[first].resolve(name):
            if isinstance(place, tuple):
                hashes[(above[first] / place[0]).as_posix()] = place[1]
            elif place not in read:
                read.add(place)
                file = place.relative_to(known[first].folder)
                # a checkout with the line ends of Windows is the same code
                data = read_input(place).replace(b"\r\n", b"\n")
                todo |= _names_in(place, data, (first, *file.parent.parts), known) - done
                hashes[(above[first] / file).as_posix()] = sha256(data)
                own_name = ".".join([first, *file.with_suffix("").parts])
                if own_name not in EVALUATE and may_look_for_modules(data, known):
                    hashes |= _all_files(packages[0], known[first].folder)
    if may_look_for_modules(code, known):
        for folder in packages:
            hashes |= _all_files(packages[0], folder)
    return dict(sorted(hashes.items()))


def _all_files(first: Path, folder: Path) -> dict[str, str]:
    above = Path(os.path.relpath(folder, first))
    return {(above / name).as_posix(): hash_ for name, hash_ in file_hashes(folder).items()}


def _tracked(names: Iterable[str], packages: Iterable[str]) -> set[str]:
    return {name for package in packages for name in belonging(names, package)}


def _names_in(path: Path, data: bytes, parents: Iterable[str], packages: Iterable[str]) -> set[str]:
    try:
        return _tracked(names_used(data, ".".join(parents)), packages)
    except NO_PYTHON as error:
        raise not_python(path, error) from error
