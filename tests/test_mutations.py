import ast

import pytest
import yaml

from tests.covered import Coverage
from tests.mutants import ALLOWED, REASONS, ROOT
from tests.mutations import mutants


def changed(source):
    """The lines that differ from the source, one for each mutant."""
    lines = source.splitlines()
    return [
        " / ".join(
            new for old, new in zip(lines, mutant.source.splitlines(), strict=True) if old != new
        )
        for mutant in mutants("a.py", source)
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = a < b", ["x = (a >= b)"]),
        ("x = a < 1", ["x = (a >= 1)", "x = (a <= 1)"]),
        ("x = a is None", ["x = (a is not None)"]),
        ("x = a and b or c", ["x = ((a and b) and c)", "x = (a or b) or c"]),
        ("x = 2 * a - b", ["x = (2 * a + b)", "x = (2 / a) - b"]),
        ("x = not a", ["x = a"]),
        ("x = max(a)", ["x = min(a)"]),
        ("x = a.any()", ["x = a.all()"]),
        ("x = f(a) if a else b", ["x = f(a) if (not a) else b"]),
        ("TOLERANCE = 1e-8", ["TOLERANCE = 1.00000001"]),
        ("BUDGET = 10**6", []),
        ("RATIO = a / 2", ["RATIO = (a * 2)"]),
        ("x = zip(a, strict=True)", []),
        ("x = 'min < max'", []),
        ("x = f'{a + b}'", []),
        ("x: Literal[3] = None", []),
        ("del a", []),
    ],
)
def test_changes_of_a_line(line, expected):
    assert changed(line) == expected


def test_changes_of_a_function():
    source = (
        "def f(a, n=9):\n    log(a)\n    while g(a):\n        a += n\n        continue\n    raise "
        "ValueError(1 + a)\n    return a\n"
    )
    assert changed(source) == [
        "    pass",
        "    while (not g(a)):",
        "        pass",
        "        pass",
        "    pass",
        "    return None",
    ]


def test_every_mutant_is_python_and_has_a_key_of_its_own():
    source = (
        "def f(a):\n    x = [1, 1]\n    if a < 2 and a > 0:\n        return (a *\n                "
        "3)\n    return None\n"
    )
    found = list(mutants("a.py", source))
    for mutant in found:
        ast.parse(mutant.source)
    assert len({mutant.key for mutant in found}) == len(found)
    assert "a.py f: `1` → `2` in `x = [1, 1]` (2)" in {mutant.key for mutant in found}
    assert [mutant.line for mutant in mutants("a.py", "\n\nx = not a\n")] == [3]


def test_the_quickest_tests_of_a_line_come_first_within_the_budget():
    cover = Coverage(
        {"a.py": {3: ["slow", "quick"], 4: ["other"]}},
        {"slow": 5.0, "quick": 0.1, "other": 1.0, "starts": 2.0},
    )
    assert cover.tests_of("a.py", 3, 10.0) == ["quick", "slow"]
    assert cover.tests_of("a.py", 3, 2.0) == ["quick"]
    assert cover.tests_of("a.py", 3, 0.0) == ["quick"], "one is always run"
    assert cover.tests_of("a.py", 9, 10.0) == ["quick", "other", "slow"], (
        "the body of the module: every test of the file"
    )
    assert cover.tests_of("b.py", 1, 10.0) == ["other", "starts", "slow"], (
        "run in processes of its own"
    )


def test_every_known_survivor_names_a_mutant_of_the_present_code():
    known = yaml.safe_load(REASONS.read_text(encoding="utf-8"))
    for room, items in known.items():
        paths = sorted((ROOT / "ntpcompanion" / room).rglob("*.py"))
        keys = {
            m.key
            for path in paths
            for m in mutants(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        }
        assert {item["mutant"] for item in items} <= keys
        assert all(len(item["reason"]) > 20 for item in items)
        assert len(items) <= ALLOWED * len(keys)
