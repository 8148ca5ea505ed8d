"""Docstrings of what is public name every error that stands in its code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "ntpcompanion"
CONSTRUCTORS = ("__init__", "__post_init__")  # their errors stand in the docstring of the class
NOT_CALLED_BY_USERS = {
    "cli.py",  # a docstring there is the help of a command
    "experiments/__main__.py",
}


def raised(function: ast.FunctionDef) -> Iterator[str]:
    """The names of the errors that a function raises itself; those of functions inside, and those
    that it may catch itself, are left out.
    """
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Raise) and node.exc is not None:
            error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            if isinstance(error, ast.Name) and error.id[0].isupper():
                yield error.id
        caught = isinstance(node, ast.Try) and node.handlers
        todo += [*node.handlers, *node.orelse] if caught else ast.iter_child_nodes(node)


def public_functions(node: ast.AST, owner: str = "", of_class: str = "") -> Iterator[tuple]:
    """Name, node and docstring of public functions and methods."""
    for child in ast.iter_child_nodes(node):
        name = f"{owner}{getattr(child, 'name', '')}"
        if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from public_functions(child, f"{name}.", ast.get_docstring(child) or "")
        elif isinstance(child, ast.FunctionDef):
            text = ast.get_docstring(child) or ""
            if child.name in CONSTRUCTORS:
                yield name, child, text + of_class
            elif not child.name.startswith("_"):
                yield name, child, text


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.relative_to(PACKAGE).as_posix()
)
def test_what_a_public_function_raises_stands_in_its_docstring(path):
    if path.relative_to(PACKAGE).as_posix() in NOT_CALLED_BY_USERS:
        return
    missing = [
        f"{name} raises {error}"
        for name, function, text in public_functions(ast.parse(path.read_text(encoding="utf-8")))
        for error in sorted({*raised(function)} - {"NotImplementedError"})
        if error not in text
    ]
    assert missing == []


def test_an_error_that_is_not_documented_is_found():
    code = (
        "def f():\n    'A sentence.'\n    if 1:\n        raise ValueError(2)\n"
        "def _g():\n    raise ValueError\n"
        "def h():\n    try:\n        raise TypeError\n"
        "    except TypeError:\n        raise OSError\n"
        "class C:\n    'Raises KeyError.'\n    def __init__(self):\n        raise KeyError\n"
    )
    found = {name: set(raised(node)) for name, node, _ in public_functions(ast.parse(code))}
    assert found == {"f": {"ValueError"}, "h": {"OSError"}, "C.__init__": {"KeyError"}}
    assert [text for *_, text in public_functions(ast.parse(code))] == [
        "A sentence.",
        "",
        "Raises KeyError.",
    ]


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.relative_to(PACKAGE).as_posix()
)
def test_no_line_of_a_docstring_is_a_letter_alone(path):
    """Sphinx reads "k." on a line of its own as the start of a list, and shows nothing."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [
        ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, documented)
    ]
    assert [text for text in texts if re.search(r"^ *[A-Za-z][.)]$", text, re.MULTILINE)] == []
