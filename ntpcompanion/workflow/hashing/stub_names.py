"""Which files of a package a dotted name leads to, through the stubs of its subpackages.

The public names of a package stand in its stub `__init__.pyi`: lines `from .svm import
solve_ntp_svm as solve_ntp_svm` say in which module each public name is defined, for type checkers
and for `lazy_loader`, which loads that module when the name is first asked for.
"""

import ast
import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import read_input
from ntpcompanion.workflow.hashing.used_names import NO_PYTHON, ONE_PARSES, WHOLE

STUB = "__init__.pyi"


class Package:
    """A package as it stands: each of its folders and stubs is looked at once, when it is first
    asked for.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stub = functools.cache(read_stub)
        self._entries = functools.cache(_entries)

    def resolve(self, name: str) -> Iterator[Path | tuple[str, str]]:
        """What decides the meaning of a name such as `pkg.sub.name`.

        Parameters
        ----------
        name
            its first part is the name of the package; with `*` as the last part, all names of a
            stub.

        Yields
        ------
        Path or tuple of str
            the files of the modules that are loaded on the way, and for each name that a stub
            passes on the pair (`"sub/__init__.pyi: name"`, `"module.name"`): which name, and where
            it is defined. The other names of a stub, and the file as such, make no difference.

        Raises
        ------
        WorkflowError
            if a stub is not Python.
        """
        yield from self._through_stub(self.folder, name.split(".")[1:])

    def _through_stub(self, folder: Path, parts: Sequence[str]) -> Iterator[Path | tuple[str, str]]:
        # both ways: a module and a function of the stub may have the same name
        yield from self._through_modules(folder, parts)
        if not parts:
            return
        first, *rest = parts
        names = self._stub(folder)
        for name in names if first == WHOLE else {first} & names.keys():
            stub = (folder / STUB).relative_to(self.folder).as_posix()
            yield f"{stub}: {name}", names[name]
            further = [WHOLE] if first == WHOLE else rest
            yield from self._through_modules(folder, [*names[name].split("."), *further])

    def _through_modules(
        self, folder: Path, parts: Sequence[str]
    ) -> Iterator[Path | tuple[str, str]]:
        folders, files = self._entries(folder)
        if "__init__.py" in files:
            yield folder / "__init__.py"
        if not parts or parts[0] == WHOLE:
            return
        first, *rest = parts
        if first in folders:
            yield from self._through_stub(folder / first, rest)
        elif f"{first}.py" in files:
            yield folder / f"{first}.py"


def _entries(folder: Path) -> tuple[set[str], set[str]]:
    """The names of the folders and of the files in a folder; none if it does not exist."""
    if not folder.is_dir():
        return set(), set()
    with os.scandir(folder) as scanned:
        entries = list(scanned)
    folders = {entry.name for entry in entries if entry.is_dir()}
    return folders, {entry.name for entry in entries if entry.is_file()}


def read_stub(folder: Path) -> dict[str, str]:
    """The public names of a package, each with its place relative to the package: a module, or a
    module and what it defines. Empty if it has no stub.
    """
    stub = folder / STUB
    if not stub.is_file():
        return {}
    try:
        return dict(_names_of(read_input(stub)))
    except NO_PYTHON as error:
        raise not_python(stub, error) from error


# asked for in every scan of the package; what the file says now is read each time
@functools.cache
def _names_of(stub: bytes) -> Mapping[str, str]:
    with ONE_PARSES:
        tree = ast.parse(stub)
    lines = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.level == 1]
    return {
        alias.name: f"{line.module}.{alias.name}" if line.module else alias.name
        for line in lines
        for alias in line.names
    }


def not_python(path: Path, error: BaseException) -> WorkflowError:
    """The sentence for a file that cannot be parsed."""
    reason = str(error).replace("<unknown>", path.name) or type(error).__name__
    return WorkflowError(
        f"{path} is not Python, so nothing that imports it can run: {reason}. Fix the file."
    )
