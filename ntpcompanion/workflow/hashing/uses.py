"""Which dotted names a piece of code uses of the modules it imports. It is read, and never run."""

import ast
import functools
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# CPython 3.11 counts the depth of a syntax tree once for all threads: two that parse at a time can
# end in a SystemError.
ONE_PARSES = threading.Lock()
# what `ast.parse` raises for faults, null bytes and deep nesting
NO_PYTHON = (SyntaxError, ValueError, MemoryError, RecursionError)
WHOLE = "*"  # as the last part of a name: everything that stands there


@dataclass(frozen=True)
class Binding:
    """What one import gives: the `module` or attribute imported, and that a local name stands for
    `target` from then on.
    """

    module: str
    local: str
    target: str


# the notebooks and records of a book share most of their modules; to parse one takes milliseconds
@functools.cache
def names_used(code: str | bytes, parent: str | None = None) -> frozenset[str]:
    """The dotted names that `code` imports, or reaches as attributes of what it imports.

    After `from pkg import sub`, the code `sub.name` uses `pkg.sub` and `pkg.sub.name`.
    Where an imported name is handed on as a whole, and where it is never used (another module may
    import it from here), anything in it may be used: `pkg.sub.*`. Imports inside functions
    count; those by computed names cannot be seen.

    Parameters
    ----------
    code
        Python source.
    parent
        the dotted name of the package that relative imports start from; None if there is none.

    Returns
    -------
    frozenset of str
        absolute names, whether of modules, functions or anything else.

    Raises
    ------
    SyntaxError, ValueError, MemoryError, RecursionError
        if `code` is not Python; as `ast.parse` does.
    """
    with ONE_PARSES:
        nodes = list(ast.walk(ast.parse(code)))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    bindings = [binding for node in imports for binding in _bindings(node, parent)]
    chains: dict[str, set[str]] = {binding.local: set() for binding in bindings}
    for root, attributes in _chains(nodes):
        if root in chains:
            chains[root].add(attributes or WHOLE)
    used = {binding.module for binding in bindings}
    for binding in bindings:
        reached = chains[binding.local]
        used |= {f"{binding.target}.{chain}" for chain in reached}
        if not reached:
            used.add(f"{binding.module}.{WHOLE}")
    return frozenset(used)


def _bindings(node: ast.Import | ast.ImportFrom, parent: str | None) -> Iterator[Binding]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            first = alias.name.partition(".")[0]
            yield (
                Binding(alias.name, alias.asname, alias.name)
                if alias.asname
                else Binding(alias.name, first, first)
            )
    else:
        base = _absolute(node, parent)
        for alias in node.names:
            name = f"{base}.{alias.name}"
            yield Binding(name, alias.asname or alias.name, name)


def _absolute(node: ast.ImportFrom, parent: str | None) -> str:
    if not node.level or parent is None:
        return node.module or ""
    parts = parent.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def _chains(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Every `name.attribute.attribute` as the name and the dotted rest, "" for a name alone."""
    names = [node for node in nodes if isinstance(node, ast.Name | ast.Attribute)]
    inner = {id(node.value) for node in names if isinstance(node, ast.Attribute)}
    for node in names:
        if id(node) in inner:
            continue
        attributes: list[str] = []
        place: ast.expr = node
        while isinstance(place, ast.Attribute):
            attributes.append(place.attr)
            place = place.value
        if isinstance(place, ast.Name):
            yield place.id, ".".join(reversed(attributes))


def belonging(names: Iterable[str], package: str) -> set[str]:
    """Those of `names` that lie in `package`."""
    return {name for name in names if name.split(".")[0] == package}
