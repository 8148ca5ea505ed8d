"""The time limit of the tests finds what hangs, not what waits for a fixture."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from tests.conftest import LONGEST, dealt

ROOT = Path(__file__).resolve().parents[1]
PLANTED = """
import time
import pytest

@pytest.fixture
def slow():
    time.sleep(2)

def test_waits(slow):
    pass

def test_hangs():
    time.sleep(60)
"""


def test_a_test_that_hangs_is_named_and_one_whose_fixture_is_slow_is_not(tmp_path):
    path = tmp_path / "test_planted.py"
    path.write_text(PLANTED, encoding="utf-8")
    options = [
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(tmp_path),
        "-n0",
        "-q",
        "-p",
        "no:cacheprovider",
        "--timeout=1",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert "1 failed, 1 passed" in done.stdout
    assert "test_hangs" in done.stdout
    assert "Timeout" in done.stdout


def items_of(names, readers=()):
    """Tests of these files; the modules of some read the smoke site."""
    sites = {name: SimpleNamespace(smoke_site=None) for name in readers}
    return [SimpleNamespace(path=ROOT / "tests" / name, module=sites.get(name)) for name in names]


def test_files_that_may_start_programs_are_dealt_out_before_those_that_compute():
    """At the end of a run by several processes there are short files only."""
    given = ["linear/a", "linear/b", "linear/b", "drills/few", "workflow/many", "workflow/many"]
    found = [item.path.name for item in dealt(items_of(given))]
    assert found == ["many", "many", "few", "b", "b", "a"]


def test_one_file_makes_the_smoke_site_while_others_have_something_else_to_do():
    readers = ["site/one", "site/two", "site/three"]
    given = ["linear/a", "few", *readers, *readers[1:], *readers[2:], *["workflow/many"] * 9]
    order = [item.path.name for item in dealt(items_of(given, readers))]
    assert list(dict.fromkeys(order)) == ["three", "many", "few", "two", "one", "a"]
    assert order == sorted(order, key=order.index), "the tests of a file stay together"
    longest = dealt(items_of([*given, LONGEST], [*readers, LONGEST]))
    names = list(dict.fromkeys(item.path.name for item in longest))
    assert names == [LONGEST, "many", "few", "three", "two", "one", "a"]
