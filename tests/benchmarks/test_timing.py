import os
import subprocess
import sys
from pathlib import Path

import pytest

from ntpcompanion.workflow.base.files import read_sealed
from tests.benchmarks import timing as module
from tests.benchmarks.timing import Timing, turns

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


@pytest.fixture
def clock(monkeypatch):
    """A clock that only what is timed moves: `clock(2.0, 1.0)` takes two seconds, then one."""
    now = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])

    def takes(*seconds):
        rest = list(seconds)

        def run():
            now[0] += rest.pop(0) if len(rest) > 1 else rest[0]

        return run

    return takes


def test_rounds_last_as_long_as_the_budget_without_the_first(clock):
    ours, peer = turns(clock(2.0, 1.0), clock(1.0), budget=7.0)
    assert ours == [1.0] * 3
    assert peer == [1.0] * 3
    assert len(turns(clock(0.001))[0]) == module.MOST
    assert len(turns(clock(60.0), least=2)[0]) == 2


def test_a_peer_that_does_a_part_of_the_work_is_scaled(clock, monkeypatch):
    timing = Timing(None)
    monkeypatch.setattr(timing, "_in_turn", lambda run, before, count: ([1.0], [before()]))
    with pytest.raises(AssertionError, match="8 times as fast as b"):
        timing.pair(("a", clock(1.0)), ("b", clock(2.0)), times=4.0, at_least=9.0)
    assert timing.outcome["peer_seconds"] == [8.0]


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
