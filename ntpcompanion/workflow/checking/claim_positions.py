"""Where a text notebook measures a claim: the line that a review or an editor can point at."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.texts import read_text
from ntpcompanion.workflow.notebooks.cells import as_python

_FENCE = re.compile(r"^(`{3,}|~{3,})\s*\{code-cell\}")


def measure_lines(path: Path) -> dict[str, int]:
    """The line of each `measure(...)` call of a text notebook, by the id that it measures, counted
    from 1.

    An id that a cell only names, in a table over which it loops, say, has the line of that name.
    A cell that is not Python has none; nor has a file that cannot be read.
    """
    try:
        lines = read_text(path).split("\n")
    except WorkflowError:
        return {}
    calls: dict[str, int] = {}
    names: dict[str, int] = {}
    for start, source in _cells(lines):
        try:
            nodes = list(ast.walk(ast.parse(as_python(source))))
        except SyntaxError:
            continue
        for node in nodes:
            if isinstance(node, ast.Call) and node.args and _called(node) == "measure":
                calls.setdefault(_text(node.args[0]), start + node.lineno)
            elif isinstance(node, ast.Constant):
                names.setdefault(_text(node), start + node.lineno)
    return names | calls


def _cells(lines: list[str]) -> Iterator[tuple[int, str]]:
    """How many lines stand before the code of each cell, and its code, options empty."""
    fence, start, code = "", 0, list[str]()
    for number, line in enumerate(lines, 1):
        if not fence and (opening := _FENCE.match(line)):
            fence, start, code = opening[1], number, []
        elif fence and line.rstrip() == fence:
            yield start, "\n".join(code)
            fence = ""
        elif fence:
            code.append("" if line.startswith(":") else line)


def _called(node: ast.Call) -> str:
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
