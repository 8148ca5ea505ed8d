"""Files and functions stay small. What is longer stands here with its reason, until it is split."""

import ast
import statistics
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.sources import FILES, PACKAGE, parsed, relative

NAMED = [path for path in FILES if not path.stem.startswith("__")]
FILE, MODULES = 500, 16  # lines of a file, of 40 to 400 by judgement; modules of a folder
MEDIAN, NINE_TENTHS, LONGEST = 12, 30, 60  # lines of functions without docstring
LONGER_FUNCTIONS: dict[str, str] = {}  # with the reason
LARGER_ROOMS = {"lazy_names": "two functions, one inside the other"}


def package_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "/".join(parts[:2]) if parts[0] == "workflow" else parts[0]


def lines_of(function: ast.FunctionDef) -> int:
    """Lines of a function with its signature, without its docstring."""
    first, lines = function.body[0], function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    return lines - (first.end_lineno - first.lineno + 1)


@pytest.fixture(scope="module")
def functions() -> dict[str, dict[str, int]]:
    """Lines of each function, by package and by path and name."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for path in FILES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef):
                name = f"{relative(path)} {node.name}"
                found[package_of(path)][f"{name}:{node.lineno}"] = lines_of(node)
    return found


def test_no_file_is_too_long():
    lengths = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name for name, length in lengths.items() if length > FILE} == set()


def test_a_folder_can_be_looked_over():
    modules = Counter(path.parent.relative_to(PACKAGE).as_posix() for path in NAMED)
    assert {name for name, number in modules.items() if number > MODULES} == set()


def test_no_two_modules_share_a_name():
    names = Counter(path.stem for path in NAMED)
    assert {name for name, number in names.items() if number > 1} == set()


def test_no_function_is_too_long(functions):
    longer = {
        name.partition(":")[0]
        for lines in functions.values()
        for name, length in lines.items()
        if length > LONGEST
    }
    assert longer <= set(LONGER_FUNCTIONS)


def test_functions_of_a_room_are_short(functions):
    larger = set()
    for name, lengths in functions.items():
        lines = sorted(lengths.values())
        nine_tenths = lines[int(0.9 * len(lines))]
        if statistics.median(lines) > MEDIAN or nine_tenths > NINE_TENTHS:
            larger.add(name)
    assert larger <= set(LARGER_ROOMS)
