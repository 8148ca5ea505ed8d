"""Variables and parameters are called what they are: a noun of the field, not a word of ours."""

import ast
from collections.abc import Iterator

from tests.sources import PACKAGE, parsed, relative

DIALECT = {
    *("found", "said", "told", "kept", "own", "given", "at", "here", "least", "most", "like"),
    *("what", "share", "places", "departure", "bent", "slaved", "turned", "straight", "bed"),
    "yardstick",
}


def local_names(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Parameters, and names that are bound outside of the bodies of classes (which hold fields)."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.arg):
            yield child.arg, child.lineno
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id, child.lineno
        elif isinstance(child, ast.ExceptHandler) and child.name:
            yield child.name, child.lineno
        if isinstance(node, ast.ClassDef) and isinstance(child, ast.Assign | ast.AnnAssign):
            continue
        yield from local_names(child)


def test_no_variable_or_parameter_has_a_word_of_the_dialect():
    assert [
        f"{relative(path)}:{line}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for name, line in local_names(parsed(path))
        if name in DIALECT
    ] == []


def test_parameters_variables_and_caught_errors_are_looked_at_and_fields_are_not():
    text = """
class A:
    at: int = 3
    def f(self, kept, *given):
        try:
            own, a[0] = (said := 3), lambda like: like.share
        except E as found:
            here = other(least=3)
"""
    names = {name for name, _ in local_names(ast.parse(text))}
    assert names == {"self", "kept", "given", "own", "said", "like", "found", "here"}
