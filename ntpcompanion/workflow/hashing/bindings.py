"""Modules of a book's packages as their files stand, and what a dotted name in them is bound to."""

import ast
import dataclasses
import functools
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import read_input

# CPython 3.11 counts the depth of a syntax tree once for all threads: two that parse at a time can
# end in a SystemError.
ONE_PARSES = threading.Lock()
# what `ast.parse` raises for faults, null bytes and deep nesting
NO_PYTHON = (SyntaxError, ValueError, MemoryError, RecursionError)
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Import:
    """What an import statement binds: the name `local` to the dotted `target`, after `loads` has
    been imported. Both begin with dots where they are relative; of `*`, `local` is "*".
    """

    local: str
    target: str
    loads: str


def bound_by(nodes: Iterable[ast.AST]) -> tuple[set[str], list[Import]]:
    """The names that statements bind in their own scope, and the imports among them."""
    names: set[str] = set()
    imports: list[Import] = []
    outer: set[str] = set()
    for node in _same_scope(nodes):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Import() | ast.ImportFrom():
                imports += imports_of(node)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                names.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                names.add(name)
            case ast.Global() | ast.Nonlocal():
                outer |= {*node.names}
    return (names | {each.local for each in imports}) - outer, imports


def _same_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        yield node
        if isinstance(node, Comprehension):  # a walrus within binds outside
            walrus = (each for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
            yield from (each.target for each in walrus)
        elif not isinstance(node, Definition | ast.Lambda):
            yield from _same_scope(ast.iter_child_nodes(node))


def imports_within(node: ast.AST, *, in_functions: bool = True) -> Iterator[Import]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from imports_of(node)
    elif in_functions or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for each in ast.iter_child_nodes(node):
            yield from imports_within(each, in_functions=in_functions)


def imports_of(node: ast.Import | ast.ImportFrom) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            first = alias.name.partition(".")[0]
            yield Import(alias.asname or first, alias.name if alias.asname else first, alias.name)
        return
    base = "." * node.level + (node.module or "")
    for alias in node.names:
        name = alias.name if base[-1] == "." else f".{alias.name}"
        target = base if alias.name == "*" else f"{base}{name}"
        yield Import(alias.asname or alias.name, target, base)


def absolute(dotted: str, package: str | None) -> str:
    """A name of an import without its leading dots, which count from a `package` upwards."""
    name = dotted.lstrip(".")
    if name == dotted or package is None:
        return name
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - len(dotted) + len(name) + 1], *filter(None, [name])])


def last_name(node: ast.AST) -> str:
    """Of `a.b.c(...)` the name c; "" of what is not a name."""
    if isinstance(node, ast.Call):
        node = node.func
    return getattr(node, "attr", getattr(node, "id", ""))


def parts_of(node: ast.AST) -> tuple[str, ...]:
    """The parts of a dotted name `a.b.c`; of another expression with attributes none."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.insert(0, node.attr)
        node = node.value
    return (node.id, *attributes) if isinstance(node, ast.Name) else ()


def arguments_of(arguments: ast.arguments) -> set[str]:
    several = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return {each.arg for each in (*several, arguments.vararg, arguments.kwarg) if each}


def is_documented(body: list[ast.stmt]) -> bool:
    value = getattr(body[0], "value", None) if body and isinstance(body[0], ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def not_python(path: Path, error: BaseException) -> WorkflowError:
    reason = str(error).replace("<unknown>", path.name) or type(error).__name__
    return WorkflowError(
        f"{path} is not Python, so nothing that imports it can run: {reason}. Fix the file."
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
        """The module of that full name; None if the packages have none."""
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
