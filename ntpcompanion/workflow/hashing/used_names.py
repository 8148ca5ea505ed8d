"""Which dotted names a piece of code uses of the modules it imports. It is read, and never run."""

import ast
import functools
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.hashing.bindings import absolute, imports_within, parts_of

# CPython 3.11 counts the depth of a syntax tree once for all threads: two that parse at a time can
# end in a SystemError.
ONE_PARSES = threading.Lock()
# what `ast.parse` raises for faults, null bytes and deep nesting
NO_PYTHON = (SyntaxError, ValueError, MemoryError, RecursionError)
WHOLE = "*"  # as the last part of a name: everything that stands there


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


def not_python(path: Path, error: BaseException) -> WorkflowError:
    """The sentence for a file that cannot be parsed."""
    reason = str(error).replace("<unknown>", path.name) or type(error).__name__
    return WorkflowError(
        f"{path} is not Python, so nothing that imports it can run: {reason}. Fix the file."
    )
