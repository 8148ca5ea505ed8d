"""Modules of a book's packages as their files stand, and what a dotted name in them is bound to."""

import ast
import dataclasses
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ntpcompanion.workflow.base.files import read_input
from ntpcompanion.workflow.hashing.bindings import (
    Import,
    absolute,
    conditions_as_functions,
    last_name,
)
from ntpcompanion.workflow.hashing.statements import Reference, Statement, read_statement
from ntpcompanion.workflow.hashing.used_names import NO_PYTHON, ONE_PARSES, not_python

Seen = tuple[tuple[str, str], ...]  # modules and names on the way, against circles
UNKNOWN = "?"  # what a module does not show to have


@dataclass(eq=False)
class Module:
    """A module: its full name, its file (None for a folder without `__init__.py`), its statements,
    and the names that its stub says are loaded when they are first asked for.
    """

    name: str
    file: Path | None
    is_package: bool
    statements: list[Statement]
    lazy: dict[str, Import]

    def absolute(self, dotted: str) -> str:
        """A name of an import of this module without its leading dots."""
        return absolute(dotted, self.name if self.is_package else self.name.rpartition(".")[0])


@dataclass(frozen=True, eq=False)
class Bound:
    """What a name leads to, and after how many of its parts: a `statement` of a `module` in which
    it has that `name`, a module as such, or what `outside` names of no package of the book.
    """

    parts: int
    module: Module | None = None
    statement: Statement | None = None
    name: str = ""
    outside: str = ""


class Packages:
    """Packages as they stand: each of their files is read once, when it is first asked for."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = {folder.name: folder for folder in folders}
        self._modules: dict[str, Module | None] = {}
        self.only_raise: dict[Statement, bool] = {}  # functions, as asked for
        self.hashes: dict[tuple[object, ...], str] = {}  # of statements, as asked for
        self._bounds: dict[tuple[Module, Reference], list[Bound]] = {}

    def module(self, name: str) -> Module | None:
        """The module of that full name; None if the packages have none. Raises WorkflowError if it
        is not Python.
        """
        if name not in self._modules:
            self._modules[name] = self._read(name)
        return self._modules[name]

    def resolve(self, module: Module, reference: Reference) -> list[Bound]:
        """Everything that a reference in a module may be bound to; empty for builtins."""
        key = (module, reference)
        if key not in self._bounds:
            if reference.imports:
                rest = reference.parts[1:]
                followed = (self._follow(module, each, rest, 1, ()) for each in reference.imports)
                self._bounds[key] = [bound for each in followed for bound in each]
            else:
                self._bounds[key] = [
                    *self._attribute(module, reference.parts, 0, (), own_names=True)
                ]
        return self._bounds[key]

    def attribute(self, module: Module, name: str) -> list[Bound]:
        """Everything that a name of a module may be bound to."""
        return list(self._attribute(module, [name], 0, ()))

    def imported(self, module: Module, imports: Sequence[Import]) -> Iterator[Module]:
        """The modules that imports of a module load, those above them first."""
        for each in imports:
            for dotted in (module.absolute(each.loads), module.absolute(each.target)):
                yield from self.above(dotted)

    def above(self, dotted: str) -> Iterator[Module]:
        """The modules that are loaded on the way to a dotted name."""
        parts = dotted.split(".")
        for number in range(1, len(parts) + 1):
            if (module := self.module(".".join(parts[:number]))) is None:
                return
            yield module

    def _read(self, name: str) -> Module | None:
        first, *rest = name.split(".")
        if first not in self.folders:
            return None
        place = self.folders[first].joinpath(*rest)
        init, file = place / "__init__.py", place.parent / f"{place.name}.py"
        if init.is_file():
            statements = _parsed(init)
            lazy = _lazy_names(place / "__init__.pyi") if any(map(is_lazy, statements)) else {}
            return Module(name, init, True, statements, lazy)
        if rest and file.is_file():
            return Module(name, file, False, _parsed(file), {})
        return Module(name, None, True, [], {}) if place.is_dir() else None

    def _attribute(
        self,
        module: Module,
        parts: Sequence[str],
        done: int,
        seen: Seen,
        *,
        own_names: bool = False,
    ) -> Iterator[Bound]:
        """What the rest of a name leads to in a module, after `done` of its parts; `own_names`
        for names of the module itself, where a module below it is not visible.
        """
        if not parts:
            yield Bound(done, module)
            return
        first, *rest = parts
        count, key = 0, (module.name, first)
        if key not in seen:  # else a circle of re-exports
            for bound in self._bound(module, first, rest, done + 1, (*seen, key)):
                count += 1
                yield bound
        if own_names:
            return
        below = self.module(f"{module.name}.{first}") if module.is_package else None
        if below is not None and (rest or not count):
            yield from self._attribute(below, rest, done + 1, (*seen, key))
        elif not count and first != "__getattr__":
            yield from self._attribute(module, ["__getattr__"], done, seen)
        elif not count:
            yield Bound(done, module, outside=UNKNOWN)

    def _bound(
        self, module: Module, first: str, rest: Sequence[str], done: int, seen: Seen
    ) -> Iterator[Bound]:
        for statement in module.statements:
            if first in statement.names:
                imports = [each for each in statement.imports if each.local == first]
                for each in imports:
                    yield from self._follow(module, each, rest, done, seen)
                if not isinstance(statement.node, ast.Import | ast.ImportFrom):
                    yield Bound(done, module, statement, first)
            for star in (each for each in statement.imports if each.local == "*"):
                for source in [*self.above(module.absolute(star.target))][-1:]:
                    yield from self._attribute(source, [first, *rest], done - 1, seen)
        if first in module.lazy:
            yield from self._follow(module, module.lazy[first], rest, done, seen)

    def _follow(
        self, module: Module, one: Import, rest: Sequence[str], done: int, seen: Seen
    ) -> Iterator[Bound]:
        target = module.absolute(one.target)
        loaded = [*self.above(module.absolute(one.loads))]
        if not loaded:
            yield Bound(done, outside=target)
            return
        start = loaded[0] if loaded[0].name == target else loaded[-1]
        # parts of the import are not attributes of the reference
        parts = target.removeprefix(start.name).strip(".").split(".")
        parts = [part for part in parts if part]
        for bound in self._attribute(start, [*parts, *rest], done - len(parts), seen):
            yield dataclasses.replace(bound, parts=max(bound.parts, done))


def is_lazy(statement: Statement) -> bool:
    """Whether a statement of an `__init__.py` hands the loading of names to a function that reads
    the stub beside it: `__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)`.
    """
    value = getattr(statement.node, "value", None)
    return (
        isinstance(statement.node, ast.Assign)
        and "__getattr__" in statement.names
        and isinstance(value, ast.Call)
        and [last_name(each) for each in value.args] == ["__name__", "__file__"]
    )


def _parsed(file: Path) -> list[Statement]:
    # a checkout with the line ends of Windows is the same code
    data = read_input(file).replace(b"\r\n", b"\n")
    try:
        return statements_of(data, str(file))
    except NO_PYTHON as error:
        raise not_python(file, error) from error


# what a file holds now is read each time; notebooks and records share most of their modules
@functools.cache
def statements_of(source: bytes | str, file: str = "") -> list[Statement]:
    """The statements at the top of a module, not shared with a `file` that happens to be equal:
    there the same names may be bound to something else. Raises what NO_PYTHON lists.
    """
    with ONE_PARSES:
        tree = ast.parse(source)
    conditions_as_functions(tree)
    return [read_statement(node) for node in tree.body]


def _lazy_names(stub: Path) -> dict[str, Import]:
    if not stub.is_file():
        return {}
    imports = [each for statement in _parsed(stub) for each in statement.imports]
    return {each.local: each for each in imports if each.target.startswith(".")}
