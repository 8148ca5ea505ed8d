"""Which files of the book's packages a piece of code depends on: its imports, and theirs.

The public names of a package stand in its stub `__init__.pyi`: lines `from .svm import
solve_ntp_svm as solve_ntp_svm` say in which module each of them is defined, for type checkers and
for `lazy_loader`, which loads that module when the name is first asked for.
"""

import ast
import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ntpcompanion.workflow.base.files import read_input, sha256
from ntpcompanion.workflow.hashing.bindings import (
    NO_PYTHON,
    ONE_PARSES,
    absolute,
    imports_within,
    not_python,
    parts_of,
)

WHOLE = "*"  # as the last part of a name: everything that stands there
STUB = "__init__.pyi"


def source_hashes(code: str, *packages: Path) -> dict[str, str]:
    """A hash of every file of the `packages` that `code` imports, directly or not, by path relative
    to the first of them; and where the names that it takes from public names are defined.

    A name imported from a package that loads its names late leads to the module that defines it,
    not to the whole package: the entry `"sub/__init__.pyi: name"` holds that module. Imports inside
    functions count. What is imported by a computed name cannot be seen: as it is not laid out for a
    run either, the run must declare it.
    """
    known, scan = {folder.name: folder for folder in packages}, _Scan(packages[0])
    hashes: dict[str, str] = {}
    todo, done, read = set(names_used(code)), set[str](), set[Path]()
    while todo:
        name = todo.pop()
        done.add(name)
        first, *parts = name.split(".")
        for place in scan.through(known[first], parts) if first in known else ():
            if isinstance(place, tuple):
                hashes[place[0]] = place[1]
            elif place not in read:
                read.add(place)
                above = [first, *place.relative_to(known[first]).parent.parts]
                # a checkout with the line ends of Windows is the same code
                data = read_input(place).replace(b"\r\n", b"\n")
                todo |= _names_in(place, data, ".".join(above)) - done
                hashes[scan.relative(place)] = sha256(data)
    return dict(sorted(hashes.items()))


class _Scan:
    """Packages as they stand: each folder and stub is looked at once; paths are relative to the
    `first` package.
    """

    def __init__(self, first: Path) -> None:
        self.first = first
        self.entries, self.stub = functools.cache(_entries), functools.cache(read_stub)

    def relative(self, path: Path) -> str:
        """`../other/module.py` for a second package."""
        return Path(os.path.relpath(path, self.first)).as_posix()

    def through(
        self, folder: Path, parts: Sequence[str], *, public: bool = True
    ) -> Iterator[Path | tuple[str, str]]:
        """What decides the meaning of a dotted name in a folder: the files of modules that are
        loaded on the way, and for each name that a stub passes on where it is defined. The other
        names of a stub make no difference.
        """
        if "__init__.py" in self.entries(folder):
            yield folder / "__init__.py"
        if not parts:
            return
        first, *rest = parts
        if f"{first}/" in self.entries(folder):
            yield from self.through(folder / first, rest)
        elif f"{first}.py" in self.entries(folder):
            yield folder / f"{first}.py"
        # a module and a function of the stub may have the same name
        names = self.stub(folder) if public else {}
        for name in names if first == WHOLE else {first} & names.keys():
            yield f"{self.relative(folder / STUB)}: {name}", names[name]
            further = [WHOLE] if first == WHOLE else rest
            yield from self.through(folder, [*names[name].split("."), *further], public=False)


def _names_in(path: Path, data: bytes, parent: str) -> frozenset[str]:
    try:
        return names_used(data, parent)
    except NO_PYTHON as error:
        raise not_python(path, error) from error


def _entries(folder: Path) -> set[str]:
    """The names of files in a folder, and those of folders with a slash; none if there is none."""
    if not folder.is_dir():
        return set()
    with os.scandir(folder) as entries:
        return {f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries}


def read_stub(folder: Path) -> dict[str, str]:
    """The public names of a package, each with its place relative to the package: a module, or a
    module and what it defines. Empty if it has no stub.
    """
    stub = folder / STUB
    try:
        return dict(_names_of(read_input(stub))) if stub.is_file() else {}
    except NO_PYTHON as error:
        raise not_python(stub, error) from error


# asked for in every scan of the package; what the file says now is read each time
@functools.cache
def _names_of(stub: bytes) -> Iterable[tuple[str, str]]:
    with ONE_PARSES:
        tree = ast.parse(stub)
    return [
        (alias.name, f"{line.module}.{alias.name}" if line.module else alias.name)
        for line in tree.body
        if isinstance(line, ast.ImportFrom) and line.level == 1
        for alias in line.names
    ]


# the notebooks and records of a book share most of their modules; to parse one takes milliseconds
@functools.cache
def names_used(code: str | bytes, parent: str | None = None) -> frozenset[str]:
    """The absolute dotted names that `code` imports, or reaches as attributes of what it imports;
    `pkg.sub.*` where an imported name is handed on as a whole or never used. Relative imports start
    from `parent`; computed names cannot be seen. Raises SyntaxError, ValueError, MemoryError or
    RecursionError as `ast.parse`.
    """
    with ONE_PARSES:
        tree = ast.parse(code)
    imports = [*imports_within(tree)]
    chains: dict[str, set[str]] = {one.local: set() for one in imports}
    for root, attributes in _chains(ast.walk(tree)):
        if root in chains:
            chains[root].add(attributes or WHOLE)
    used = set[str]()
    for one in imports:
        target = absolute(one.target, parent)
        # `import a.b` binds `a`, and loads a.b
        loaded = absolute(max(one.target, one.loads, key=len), parent)
        used |= {loaded, *(f"{target}.{chain}" for chain in chains[one.local])}
        if not chains[one.local]:
            used.add(f"{loaded}.{WHOLE}")
    return frozenset(used)


def _chains(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Every `name.attribute.attribute` as the name and the dotted rest, "" for a name alone."""
    names = [node for node in nodes if isinstance(node, ast.Name | ast.Attribute)]
    inner = {id(node.value) for node in names if isinstance(node, ast.Attribute)}
    for parts in (parts_of(node) for node in names if id(node) not in inner):
        if parts:
            yield parts[0], ".".join(parts[1:])
