"""Which names statements bind in their scope, and what imports bind them to."""

import ast
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError

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
    """What all import statements in a node bind."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from imports_of(node)
    elif in_functions or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for each in ast.iter_child_nodes(node):
            yield from imports_within(each, in_functions=in_functions)


def imports_of(node: ast.Import | ast.ImportFrom) -> Iterator[Import]:
    """What one import statement binds."""
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
    """The names of all arguments of a function."""
    several = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return {each.arg for each in (*several, arguments.vararg, arguments.kwarg) if each}


def is_documented(body: list[ast.stmt]) -> bool:
    """Whether a body begins with a docstring."""
    value = getattr(body[0], "value", None) if body and isinstance(body[0], ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def not_python(path: Path, error: BaseException) -> WorkflowError:
    """The sentence for a file that cannot be parsed."""
    reason = str(error).replace("<unknown>", path.name) or type(error).__name__
    return WorkflowError(
        f"{path} is not Python, so nothing that imports it can run: {reason}. Fix the file."
    )
