"""Modules of a book's packages as their files stand, and what a dotted name in them is bound to."""

import ast
import dataclasses
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ntpcompanion.workflow.base.files import read_input
from ntpcompanion.workflow.hashing.bindings import (
    NO_PYTHON,
    ONE_PARSES,
    Definition,
    Import,
    absolute,
    bound_by,
    imports_within,
    last_name,
    not_python,
)

Seen = tuple[tuple[str, str], ...]  # modules and names on the way, against circles
UNKNOWN = "?"  # what a module does not show to have


@dataclass(eq=False)
class Statement:
    """A statement at the top of a module: its tree, the names that it binds there, the imports
    that run with it, all imports within it, and the names of all functions and classes in it.
    """

    node: ast.stmt
    names: frozenset[str]
    imports: list[Import]
    within: list[Import]
    defined: frozenset[str]


@dataclass(eq=False)
class Module:
    """A module: its full name, whether it is a package, its statements, and the names that its stub
    says are loaded when they are first asked for.
    """

    name: str
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

    def is_from(self, place: str) -> bool:
        """Whether it leads into a module of that name."""
        where = f"{self.outside}." if self.module is None else f"{self.module.name}."
        return where.startswith(f"{place}.")


class Packages:
    """Packages as they stand: each of their files is read once, when it is first asked for."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = {folder.name: folder for folder in folders}
        self.module = functools.cache(self._read)
        self.resolve = functools.cache(self._resolve)

    def attribute(self, module: Module, name: str) -> list[Bound]:
        """Everything that a name of a module may be bound to."""
        return list(self._attribute(module, [name], 0, ()))

    def above(self, dotted: str) -> Iterator[Module]:
        """The modules that are loaded on the way to a dotted name."""
        parts = dotted.split(".")
        for number in range(1, len(parts) + 1):
            if (module := self.module(".".join(parts[:number]))) is None:
                return
            yield module

    def _resolve(
        self, module: Module, parts: tuple[str, ...], imports: tuple[Import, ...] = ()
    ) -> list[Bound]:
        """Everything that a dotted name in a module may be bound to, where `imports` of a function
        bind it by these; empty for builtins.
        """
        if not imports:
            return [*self._attribute(module, parts, 0, (), own_names=True)]
        followed = (self._follow(module, each, parts[1:], 1, ()) for each in imports)
        return [bound for each in followed for bound in each]

    def _read(self, name: str) -> Module | None:
        """The module of that full name; None if the packages have none. Raises WorkflowError if it
        is not Python.
        """
        first, *rest = name.split(".")
        if first not in self.folders:
            return None
        place = self.folders[first].joinpath(*rest)
        init, file = place / "__init__.py", place.parent / f"{place.name}.py"
        if init.is_file():
            statements = _parsed(init)
            lazy = any(is_lazy(each.node) for each in statements)
            return Module(name, True, statements, _lazy_names(init.with_suffix(".pyi"), lazy))
        if rest and file.is_file():
            return Module(name, False, _parsed(file), {})
        return Module(name, True, [], {}) if place.is_dir() else None

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


def is_lazy(node: ast.stmt) -> bool:
    """Whether a statement of an `__init__.py` hands the loading of names to a function that reads
    the stub beside it: `__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)`.
    """
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and [last_name(each) for each in node.value.args] == ["__name__", "__file__"]
        and "__getattr__" in bound_by([node])[0]
    )


def _parsed(file: Path) -> list[Statement]:
    # a checkout with the line ends of Windows is the same code
    data = read_input(file).replace(b"\r\n", b"\n")
    try:
        return _statements_of(data, str(file))
    except NO_PYTHON as error:
        raise not_python(file, error) from error


# what a file holds now is read each time; equal files are not shared: their names differ in meaning
@functools.cache
def _statements_of(source: bytes, file: str) -> list[Statement]:
    with ONE_PARSES:
        body = ast.parse(source).body
    statements = []
    for top in body:
        # what only a checker of types sees is not run
        hidden = isinstance(top, ast.If) and last_name(top.test) == "TYPE_CHECKING"
        for each in top.orelse if hidden else [top]:  # type: ignore[attr-defined]  # an If
            now, later = imports_within(each, in_functions=False), imports_within(each)
            names = frozenset(bound_by([each])[0])
            inside = (node for node in ast.walk(each) if isinstance(node, Definition))
            defined = frozenset(node.name for node in inside)
            statements.append(Statement(each, names, [*now], [*later], defined))
    return statements


def _lazy_names(stub: Path, is_lazy: bool) -> dict[str, Import]:
    statements = _parsed(stub) if is_lazy and stub.is_file() else []
    imports = [one for each in statements for one in each.imports]
    return {each.local: each for each in imports if each.target.startswith(".")}
