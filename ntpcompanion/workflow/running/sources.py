"""Which files of the book's packages a piece of code depends on: its imports, and theirs."""

import os
from collections.abc import Iterable
from pathlib import Path

from ntpcompanion.workflow.base.files import read_input, sha256
from ntpcompanion.workflow.running.faces import Package, not_python
from ntpcompanion.workflow.running.uses import NO_PYTHON, belonging, names_used


def source_hashes(
    code: str,
    *packages: Path,
) -> dict[str, str]:
    """A hash of every file of the `packages` that `code` imports, directly or not, by path relative
    to the first of them; and where the names that it takes from faces are defined.

    A name imported from a room's face leads to the module that defines it, not to the whole room:
    the entry `"room/__init__.pyi: name"` holds that module. Imports inside functions count. Imports
    by computed names cannot be seen here; what a run reads besides is noted by its kernel. Raises WorkflowError naming a file that is not Python.
    """
    known = {folder.name: Package(folder) for folder in packages}
    # `../other/module.py` for a second package
    above = {folder.name: Path(os.path.relpath(folder, packages[0])) for folder in packages}
    todo = _tracked(names_used(code), known)
    done: set[str] = set()
    read: set[Path] = set()
    found: dict[str, str] = {}
    while todo:
        name = todo.pop()
        done.add(name)
        first = name.partition(".")[0]
        for place in known[first].leads_to(name):
            if isinstance(place, tuple):
                found[(above[first] / place[0]).as_posix()] = place[1]
            elif place not in read:
                read.add(place)
                file = place.relative_to(known[first].folder)
                # a checkout with the line ends of Windows is the same code
                data = read_input(place).replace(b"\r\n", b"\n")
                todo |= _names_in(place, data, (first, *file.parent.parts), known) - done
                found[(above[first] / file).as_posix()] = sha256(data)
    return dict(sorted(found.items()))


def _tracked(names: Iterable[str], packages: Iterable[str]) -> set[str]:
    return {name for package in packages for name in belonging(names, package)}


def _names_in(path: Path, data: bytes, parents: Iterable[str], packages: Iterable[str]) -> set[str]:
    try:
        return _tracked(names_used(data, ".".join(parents)), packages)
    except NO_PYTHON as error:
        raise not_python(path, error) from error
