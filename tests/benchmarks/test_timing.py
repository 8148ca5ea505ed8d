import os
import subprocess
import sys
from pathlib import Path

import pytest

from ntpcompanion.workflow.base.files import read_sealed

ROOT = Path(__file__).parents[2]
TOY = """
from tests.benchmarks.timing import about

@about("A sum", "Toys")
def test_sum(timing):
    timing.pair(("sum", lambda: sum(range(1000))), ("list", lambda: sum([*range(1000)])))

@about("A sum of more", "Toys", busy=False)
def test_growth(timing):
    timing.growth("n", [1000, 2000, 4000], lambda n: lambda: sum(range(n)), ideal=1.0)

@about("Too slow", "Toys", busy=False)
def test_missed(timing):
    timing.amount("s", [2.0], at_most=1.0)

@about("No peer", "Toys", busy=False)
def test_failed(timing):
    raise ImportError("no peer")

@about("Large", "Toys", busy=False, listed=False)
def test_large(timing):
    timing.amount("GiB", [80.0])
"""


def timed(folder, *options):
    """The exit code and the entries of a run of the toy benchmarks."""
    command = [sys.executable, "-m", "pytest", "-o", "addopts=", "-p", "tests.benchmarks.plugin"]
    command += [str(folder / "bench_toy.py"), f"--into={folder}", "-q", *options]
    command += ["-W", "ignore", "-p", "no:cacheprovider"]
    # a run beside others, as xdist says by its variables, would time nothing
    alone = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    ended = subprocess.run(
        command, cwd=ROOT, env=alone, capture_output=True, text=True, check=False
    )
    paths = list(folder.glob("*.json"))
    assert len(paths) == 1, ended.stdout + ended.stderr
    run = read_sealed(paths[0])
    return ended.returncode, {(each["name"], each["busy"]): each for each in run["entries"]}


@pytest.mark.slow
def test_a_run_keeps_pairs_in_turn_growth_misses_and_failures(tmp_path):
    (tmp_path / "bench_toy.py").write_text(TOY)
    code, entries = timed(tmp_path)
    assert code == 1
    assert set(entries) == {
        ("toy.sum", 0), ("toy.growth", 0), ("toy.missed", 0), ("toy.failed", 0), ("toy.sum", 4)
    }  # fmt: skip
    pair = entries["toy.sum", 0]["outcome"]
    assert len(pair["our_seconds"]) == len(pair["peer_seconds"]) >= 3
    assert entries["toy.growth", 0]["outcome"]["sizes"] == [1000.0, 2000.0, 4000.0]
    assert len(entries["toy.growth", 0]["outcome"]["seconds"]) == 3
    assert entries["toy.missed", 0]["outcome"]["values"] == [2.0]
    assert entries["toy.failed", 0]["outcome"] == {
        "kind": "failed", "error": "ImportError: no peer"
    }  # fmt: skip
    code, again = timed(tmp_path, "--unlisted", "-k", "large")
    assert code == 0
    assert set(again) == {*entries, ("toy.large", 0)}, "the others of the day stay"


def test_the_stored_runs_are_whole_and_of_one_form():
    paths = sorted((ROOT / "book" / "records" / "bench").glob("*.json"))
    assert paths
    for path in paths:
        for entry in read_sealed(path)["entries"]:
            assert entry["outcome"]["kind"] in ("pair", "growth", "amount", "failed")
