"""Which files of the package a piece of code depends on: its imports, and theirs."""

import ast
import functools
import threading
from collections.abc import Iterable
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import read_input, sha256

# CPython 3.11 counts the depth of a syntax tree once for all threads: two that parse at a time can
# end in a SystemError.
ONE_PARSES = threading.Lock()
# what `ast.parse` raises for faults, null bytes and deep nesting
NO_PYTHON = (SyntaxError, ValueError, MemoryError, RecursionError)


def source_hashes(code: str, package: Path) -> dict[str, str]:
    """SHA-256 of every package file that `code` imports, directly or not, by path relative to the
    package.

    Imports inside functions count. Imports by computed names cannot be seen here; what a run reads
    besides is noted by its kernel. Raises WorkflowError naming a file that is not Python.
    """
    todo = set(_imported(code, package, module=None))
    seen: dict[str, str] = {}
    while todo:
        module = todo.pop()
        path = _file(module, package)
        if path is None or (key := path.relative_to(package).as_posix()) in seen:
            continue
        # a checkout with the line ends of Windows is the same code
        data = read_input(path).replace(b"\r\n", b"\n")
        seen[key] = sha256(data)
        try:
            todo |= _imported(
                data, package, module if path.name == "__init__.py" else module.rpartition(".")[0]
            )
        except NO_PYTHON as error:
            said = str(error).replace("<unknown>", path.name) or type(error).__name__
            raise WorkflowError(
                f"{path} is not Python, so nothing that imports it can run: {said}. Mend the file."
            ) from error
    return dict(sorted(seen.items()))


# the notebooks and records of a book share most of their modules; to parse one takes milliseconds
@functools.cache
def _imported(code: str | bytes, package: Path, module: str | None) -> frozenset[str]:
    names: set[str] = set()
    with ONE_PARSES:
        tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module)
            # whether module or not; its parents are added below
            names.update(f"{base}.{alias.name}" for alias in node.names)
    own = {name for name in names if name.split(".")[0] == package.name}
    return frozenset(own | set(_parents(own)))


def _absolute(node: ast.ImportFrom, module: str | None) -> str:
    if not node.level or module is None:
        return node.module or ""
    parts = module.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def _parents(names: Iterable[str]) -> Iterable[str]:
    for name in names:
        parts = name.split(".")
        yield from (".".join(parts[:k]) for k in range(1, len(parts)))


def _file(module: str, package: Path) -> Path | None:
    """The file of a module, or None for a name that is a function or class inside one."""
    stem = package.joinpath(*module.split(".")[1:])
    candidates = (
        (stem / "__init__.py", stem.with_suffix(".py"))
        if stem != package
        else (package / "__init__.py",)
    )
    return next((path for path in candidates if path.is_file()), None)
