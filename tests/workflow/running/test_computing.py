"""What is taken out of a module cannot move a number, and nothing else is."""

import ast
from pathlib import Path

import pytest

from ntpcompanion.workflow.running.computing import CHECK, computing, is_check

PACKAGE = Path(__file__).resolve().parents[3] / "ntpcompanion"
MODULE = """
from house import check_size, wall
import plans

limit = 3

def _check_all(sizes):
    for size in sizes:
        check_size("size", size)

class Plan:
    width: int = 3

    def area(self, height):
        return self.width * height

def build(plan, *more, **options):
    total = wall(plan, plans.unit)
    for each in more:
        total += wall(each)
    return total
"""

TRIED = "    try:\n        check_size(plan)\n    except ValueError:\n        plan = 3\n"


def computes(source: str) -> str:
    return ast.unparse(computing(source))


def changed(old: str, new: str) -> str:
    assert old in MODULE
    return computes(MODULE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("limit = 3", "limit: int = 3"),
        ("area(self, height)", "area(self, height: float) -> float"),
        ("(plan, *more, **options)", "(plan: Plan, *more: Plan, **options: int) -> float"),
        ("    total = wall", "    total: float = wall"),
        ("    total = wall", "    total: float\n    total = wall"),
        ("    total = wall", '    """Builds."""\n    total = wall'),
        ("    total = wall", '    check_size("plan", plan)\n    total = wall'),
        ("    total = wall", '    check_size("more", len(more), least=1)\n    total = wall'),
        ("    total = wall", "    plans.check_plan(plan)\n    total = wall"),
        ("        return self", "        self._check_unit(height)\n        return self"),
        ("for size in sizes", "for size in sizes[1:]"),
        (
            "def _check_all",
            "def check_some(x):\n    if x:\n        raise\n\ndef _check_all",
        ),
    ],
)
def test_annotations_and_checks_do_not_count(old, new):
    assert changed(old, new) == computes(MODULE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("width: int", "width: float"),  # a dataclass reads it
        ("limit = 3", "limit = 4"),
        ("    total = wall", "    total = check_size(plan)\n    total = wall"),
        ("    total = wall", '    check_size("plan", next(more))\n    total = wall'),
        ("    total = wall", '    check_size("plan", plan := 3)\n    total = wall'),
        ("    total = wall", "    check_size(plan).close()\n    total = wall"),
        ("    total = wall", "    size_checked(plan)\n    total = wall"),
        ("        total +=", '        check_size("each", each)\n        total +='),
        ("    total = wall", f"{TRIED}    total = wall"),
        ("def _check_all(sizes):", "@plans.seen\ndef _check_all(sizes):"),
        ("def _check_all(sizes):", "def _check_all(sizes):\n    sizes[0] = 1"),
        ("def _check_all(sizes):", "def _check_all(sizes):\n    sizes.least = 1"),
        ("def _check_all(sizes):", "def _check_all(sizes):\n    del sizes[0]"),
        ("def _check_all(sizes):", "def _check_all(sizes):\n    global limit\n    limit = 4"),
        ("def _check_all(sizes):", "def _check_all(sizes):\n    return sizes"),
    ],
)
def test_all_else_counts(old, new):
    assert changed(old, new) != computes(MODULE)


def test_an_import_goes_if_only_what_went_used_it():
    assert "check_size" not in computes(MODULE)
    assert "wall" in computes(MODULE)
    again = f"from house import lamp\n{MODULE}"  # another module may take it from here
    assert "import lamp" in computes(again)
    typed = "from kinds import Kind, other\n\ndef f(x: Kind):\n    return other(x)\n"
    assert computes(typed) == "from kinds import other\n\ndef f(x):\n    return other(x)"


def test_what_is_called_a_check_in_this_package_only_refuses():
    """Or it returns what it found, as a certificate; a call whose result is thrown away would then
    be for nothing. What changes something has another name.
    """
    found = [
        (f"{path.relative_to(PACKAGE)}:{node.lineno}", node)
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and CHECK.match(node.name)
    ]
    assert len(found) > 50
    returning = [
        place
        for place, node in found
        if not is_check(node) and (node.returns is None or ast.unparse(node.returns) == "None")
    ]
    assert not returning
