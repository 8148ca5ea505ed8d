"""Which files of the package a piece of code depends on: its imports, and theirs."""

from pathlib import Path

from ntpcompanion.workflow.base.files import read_input, sha256
from ntpcompanion.workflow.running.faces import leads_to, not_python
from ntpcompanion.workflow.running.uses import NO_PYTHON, belonging, names_used


def source_hashes(code: str, package: Path) -> dict[str, str]:
    """SHA-256 of every package file that `code` imports, directly or not, by path relative to the
    package; and where the names that it takes from faces are defined.

    A name imported from a room's face leads to the module that defines it, not to the whole room:
    the entry `"room/__init__.pyi: name"` holds that module. Imports inside functions count. Imports
    by computed names cannot be seen here; what a run reads besides is noted by its kernel. Raises
    WorkflowError naming a file that is not Python.
    """
    todo = belonging(names_used(code), package.name)
    done: set[str] = set()
    found: dict[str, str] = {}
    while todo:
        name = todo.pop()
        done.add(name)
        for place in leads_to(name, package):
            if isinstance(place, tuple):
                found[place[0]] = place[1]
            elif (file := place.relative_to(package).as_posix()) not in found:
                # a checkout with the line ends of Windows is the same code
                data = read_input(place).replace(b"\r\n", b"\n")
                found[file] = sha256(data)
                todo |= _names_in(place, data, package) - done
    return dict(sorted(found.items()))


def _names_in(path: Path, data: bytes, package: Path) -> set[str]:
    parent = ".".join([package.name, *path.parent.relative_to(package).parts])
    try:
        return belonging(names_used(data, parent), package.name)
    except NO_PYTHON as error:
        raise not_python(path, error) from error
