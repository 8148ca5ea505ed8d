"""Which names statements bind in their scope, and what imports bind them to."""

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef
NO_EXPRESSION = (SyntaxError, ValueError, MemoryError, RecursionError)
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


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
        if isinstance(node, Function | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, Comprehension):  # a walrus within binds outside
            walrus = (each for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
            yield from (each.target for each in walrus)
            continue
        yield from _same_scope(ast.iter_child_nodes(node))


def conditions_as_functions(tree: ast.Module) -> None:
    """Write the condition of each `need`, a text that is evaluated, as the function of arguments
    that it is: what it names can then be seen. A name is an argument if nothing else has it.
    """
    needs = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for node in (each for each in needs if last_name(each) == "need" and len(each.args) > 1):
        text = getattr(node.args[1], "value", None)
        if not isinstance(text, str):
            continue
        try:
            body = ast.parse(text, mode="eval").body
        except NO_EXPRESSION:
            continue
        names = [each for each in ast.walk(body) if isinstance(each, ast.Name)]
        taken = {each.id for each in names if isinstance(each.ctx, ast.Store)}
        taken |= {*bound_by(tree.body)[0], *dir(builtins)}
        free = dict.fromkeys(each.id for each in names if each.id not in taken)
        arguments = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
        new = ast.copy_location(ast.Lambda(arguments, body), node.args[1])
        node.args[1] = ast.fix_missing_locations(new)


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


def arguments_of(arguments: ast.arguments) -> list[ast.arg]:
    """All arguments of a function."""
    several = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return several + [each for each in (arguments.vararg, arguments.kwarg) if each]


def asked_for_package(node: ast.Subscript) -> ast.expr | None:
    """Of `kind.__module__.split(".")[0]`, which no move changes, the `kind`."""
    match node:
        case ast.Subscript(
            value=ast.Call(
                func=ast.Attribute(
                    value=ast.Attribute(value=owner, attr="__module__"), attr="split" | "partition"
                ),
                args=[ast.Constant(value=".")],
            ),
            slice=ast.Constant(value=0),
        ):
            return owner
    return None
