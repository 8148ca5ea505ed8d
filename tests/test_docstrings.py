"""Docstrings of what is public name every error that stands in its code, and say what goes in and
comes out.
"""

import ast
import inspect
import re
from collections.abc import Iterator

from tests.public_names import SCIENCE, found_at
from tests.sources import DOCUMENTED, FILES, parsed, relative

CONSTRUCTORS = ("__init__", "__post_init__")  # their errors stand in the docstring of the class
NOT_CALLED_BY_USERS = {
    "workflow/cli/commands.py",  # a docstring there is the help of a command
    "experiments/__main__.py",
}
# interfaces and results, which the examples of others show; and what needs a download
WITHOUT_EXAMPLE = {"Language", "ContextCounts", "EntropyFloor", "Verdict", "TraceEstimate"}
WITHOUT_EXAMPLE |= {"CausalLanguage", "WordModel", "load_opt", "ConvergedProbe"}


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


def test_what_a_public_function_raises_stands_in_its_docstring():
    assert [
        f"{relative(path)}: {name} raises {error}"
        for path in FILES
        if relative(path) not in NOT_CALLED_BY_USERS
        for name, function, text in public_functions(parsed(path))
        for error in sorted({*raised(function)} - {"NotImplementedError"})
        if error not in text
        # what it is about stands in its message
        if (error, relative(path).split("/")[0]) != ("WorkflowError", "workflow")
    ] == []


def test_no_line_of_a_docstring_is_a_letter_alone():
    """Sphinx reads "k." on a line of its own as the start of a list, and shows nothing."""
    assert [
        f"{relative(path)}:{node.body[0].lineno}"
        for path in FILES
        for node in ast.walk(parsed(path))
        if isinstance(node, DOCUMENTED)
        and re.search(r"^ *[A-Za-z][.)]$", ast.get_docstring(node) or "", re.MULTILINE)
    ] == []


def undocumented(package: str, name: str) -> Iterator[str]:
    """What the docstring of a public name leaves out."""
    found = found_at(package, name)
    text = inspect.getdoc(found) or ""
    if name.endswith(".run") and [*inspect.signature(found).parameters] == ["plan"]:
        # of an experiment: its plan is described field by field, see test_every_experiment.py
        if not re.search(r"^Returns( \S|\n-)", text, re.M):
            yield "what it returns"
    elif not inspect.isclass(found):
        for parameter in inspect.signature(found).parameters:
            if not re.search(rf"\b{parameter}\b", text):
                yield parameter
        # the type of the result, and below it what it is
        if not re.search(r"^(Returns|Yields)\n-+\n\S.*\n    \S", text, re.M):
            yield "what it returns"
    if name not in WITHOUT_EXAMPLE and ">>> " not in (inspect.unwrap(found).__doc__ or ""):
        yield "an example"


def test_every_function_of_a_face_documents_its_arguments_and_result_with_an_example():
    assert [
        f"{package}.{name} has no docstring or leaves out {what}"
        for package, name in SCIENCE
        for what in undocumented(package, name)
    ] == []
