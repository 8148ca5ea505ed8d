"""Tasks in processes of their own: what is kept in the journal, what is reported, how they end."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.workflow.base.files import checksum
from ntpcompanion.workflow.sweeps.campaign import (
    Campaign,
    Options,
    append,
    appended,
    compute,
    read_journal,
)
from ntpcompanion.workflow.sweeps.grid import grid_tasks
from ntpcompanion.workflow.sweeps.targets import ExperimentTarget
from tests.refusing import refused

NOTE = """
import pathlib, time

def run(plan, checkpoint):
    if plan.n == 3 and not pathlib.Path(ROOT, "fixed").exists():
        raise RuntimeError("broken")
    with open(ROOT / "calls.txt", "a") as file:
        file.write(f"{plan.n} ")
    time.sleep(0.05)
    return Result(value=[plan.n, checkpoint.is_dir(), checkpoint.parents[1].name])
"""
PAIR = """
class Pair:
    def to_json(self):
        return 1, {1: 2}

def run(plan):
    return Pair()
"""
FAIL_BESIDE = """
import pathlib, time

def run(plan):
    if plan.n:
        pathlib.Path(ROOT, "begun").touch()
        time.sleep(0.3)
        return Result(value=plan.n)
    while not pathlib.Path(ROOT, "begun").exists():
        time.sleep(0.01)
    raise ZeroDivisionError("nothing to halve")
"""
STUDIES = {"note": NOTE, "pair": PAIR, "fail_beside": FAIL_BESIDE}


@pytest.fixture
def study(importable):
    for name, code in STUDIES.items():
        importable.write_experiment(name, code)
    return importable


def computed(study, name, tasks, log, **options):
    target = ExperimentTarget(study.project, name)
    campaign = Campaign(target, target.points(tasks), log, needs_all=True)
    return compute(campaign, Options(**options))


def test_finished_tasks_are_kept_and_reported(study, tmp_path):
    log, tasks = tmp_path / "deep" / "records" / "log.jsonl", grid_tasks({}, {"n": [1, 2, 3]})
    told = []

    def report(states):
        lines = log.read_text().count('"result"') if log.exists() else 0
        total = sum(states.values())
        told.append((total - states["running"] - states["waiting"], total, lines))

    notes = []
    first = computed(study, "note", tasks[:2], log, jobs=1, report=report, note=notes.append)
    (once,) = notes
    assert once.startswith("the experiment 'note' names calls.txt, which lies in the project and")
    assert list(dict.fromkeys(told)) == [(0, 2, 0), (1, 2, 1), (2, 2, 2)], (
        "what is reported is on the disk"
    )
    assert all(0.05 <= line["seconds"] < 10 for line in first)
    with log.open("a") as file:
        # the last cut short by a kill
        file.write('\n[3]\n{"parameters": {"n": 3}}\n{"parameters": {"n": 3}, "res')
    with refused(
        r"(?s)The task {'n': 3} failed: RuntimeError: broken\n.*2 of 3 tasks are finished and "
        r"kept"
    ):
        computed(study, "note", tasks, log, jobs=1)
    (study.project.root / "fixed").touch()
    told.clear()
    every = computed(study, "note", tasks, log, jobs=1, report=report)
    assert list(dict.fromkeys(told)) == [(2, 3, 2), (3, 3, 3)]
    assert every[:2] == first
    assert [line["parameters"] for line in every] == tasks
    values = [line["result"]["value"] for line in every]
    assert [value[:2] for value in values] == [[1, True], [2, True], [3, True]]
    assert len({value[2] for value in values}) == 3, "each task has a folder of its own"
    told.clear()
    assert computed(study, "note", tasks, log, jobs=1, report=report) == every
    assert told == [(3, 3, 3)]
    assert (study.project.root / "calls.txt").read_text().split() == ["1", "2", "3"]


def test_a_result_is_what_json_gives_back_whether_it_was_just_made_or_not(study, tmp_path):
    log = tmp_path / "log.jsonl"
    # which no record can hold: it is run again
    log.write_text('\n{"parameters": {"n": 1}, "state": "done", "result": NaN, "seconds": 1.0}')
    for _ in range(2):
        assert [line["result"] for line in computed(study, "pair", [{"n": 1}], log, jobs=1)] == [
            [1, {"1": 2}]
        ]
    with refused(r"^`--jobs` must be at least 1, got 0.$"):
        computed(study, "pair", [{"n": 1}], log, jobs=0)


def test_what_runs_beside_a_failing_task_is_kept(study, tmp_path):
    log = tmp_path / "log.jsonl"
    with refused(
        r"(?s)^The task {'n': 0} failed: ZeroDivisionError: nothing to halve\n.*1 of 2 tasks "
        r"are finished"
    ):
        computed(study, "fail_beside", [{"n": 0}, {"n": 1}], log, jobs=2)
    assert json.loads(log.read_text())["result"] == {"value": 1}


def test_every_result_is_made_permanent_and_without_that_no_more_are_begun(
    study, tmp_path, monkeypatch
):
    log, sizes = tmp_path / "log.jsonl", []

    def fsync(file):
        if not log.exists() or os.fstat(file).st_ino != log.stat().st_ino:
            return
        sizes.append(os.fstat(file).st_size)
        if len(sizes) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fsync)
    with refused(
        r"Could not write .*log.jsonl: No space left on device.\n1 of 40 tasks are finished "
        r"and kept"
    ):
        computed(study, "note", grid_tasks({}, {"n": list(range(40))}), log, jobs=1)
    assert 0 < sizes[0] < sizes[1]
    assert len((study.project.root / "calls.txt").read_text().split()) < 20


def lines(*numbers):
    made = {"state": "done", "seconds": 0.1, "read": {}, "hardware": {}}
    found = [{"key": str(n), "parameters": {"n": n}, "result": n, **made} for n in numbers]
    return [{**line, "checksum": checksum(line)} for line in found]


@given(kept=st.integers(0, 80))
def test_a_kill_at_any_byte_loses_the_last_line_only(tmp_path_factory, kept):
    path = tmp_path_factory.mktemp("journal") / "deep" / "journal.jsonl"
    assert list(read_journal(path)) == []
    with appended(path) as journal:
        append(journal, *lines(1))
        whole = path.stat().st_size
        append(journal, *lines(2))
    os.truncate(path, min(whole + kept, path.stat().st_size))
    with appended(path) as journal:
        append(journal, *lines(3))
    found = list(read_journal(path))
    assert found in (lines(1, 3), lines(1, 2, 3))


@pytest.mark.parametrize("bad", ["[3]", '{"parameters": {}}', "{" * 10_000, "\\udc80", "NaN"])
def test_what_is_no_line_is_left_out(tmp_path, bad):
    path = tmp_path / "journal.jsonl"
    path.write_text(f"{bad}\n")
    with appended(path) as journal:
        append(journal, *lines(1))
    assert list(read_journal(path)) == lines(1)
