"""Variables, fields and functions are called what they are: a noun of the field, not of ours."""

import ast
from collections.abc import Iterator

from tests.sources import PACKAGE, parsed, relative

DIALECT = {
    *("found", "said", "told", "kept", "own", "given", "at", "here", "least", "most", "like"),
    *("what", "share", "places", "departure", "bent", "slaved", "turned", "straight", "bed"),
    *("yardstick", "room", "house", "mend", "refuse", "stops", "leak", "blind", "planar"),
    *(
        "heard",
        "hear",
        "tell",
        "owe",
        "shaped",
        "leads_to",
        "captured",
        "one_mask",
        "valley",
        "house",
    ),
    *("came", "left1", "at_once", "trainings", "second_term", "apart_from", "growth_exponent"),
}
# read from files of a book or a record, which would have to be written anew
STORED = {"places"}


def names(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Parameters, functions, classes, and all names that are bound, fields included."""
    for child in ast.walk(node):
        if isinstance(child, ast.arg):
            yield child.arg, child.lineno
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id, child.lineno
        elif isinstance(child, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler) and child.name:
            yield child.name, child.lineno


def is_dialect(name: str) -> bool:
    return name.strip("_").lower() in DIALECT


def test_no_name_is_a_word_of_the_dialect():
    assert [
        f"{relative(path)}:{line}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for name, line in names(parsed(path))
        if is_dialect(name) and name not in STORED
    ] == []
