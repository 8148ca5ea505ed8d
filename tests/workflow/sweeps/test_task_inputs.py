"""Data files and settings that decide a task: named, and compared."""

import json
from dataclasses import replace

from ntpcompanion.workflow.base.tracing import state_of
from ntpcompanion.workflow.sweeps.targets import ExperimentTarget
from ntpcompanion.workflow.sweeps.task_process import (
    CHANGED,
    changed_inputs,
    inputs_read,
    present_digests,
    settings_of,
)


def test_data_files_are_named_by_their_place_and_compared(toy, tmp_path):
    outside = tmp_path / "other" / "apart"
    outside.mkdir(parents=True)
    project = replace(toy.project, others=(outside,))
    files = {
        "words.txt": project.root / "words.txt",
        str(outside / "table.csv"): outside / "table.csv",
        str(tmp_path / "far.csv"): tmp_path / "far.csv",
    }
    left_out = [project.package / "two.py", project.build / "made.txt"]
    for path in (*files.values(), *left_out):
        path.parent.mkdir(exist_ok=True)
        path.write_text(path.read_text() if path.exists() else "1")
    log = tmp_path / "own" / "log"
    log.parent.mkdir()
    lines = [["read", str(path.resolve()), state_of(path)] for path in (*files.values(), *left_out)]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    read = inputs_read(project, log, ["two.py"])
    assert read == {name: state_of(path) for name, path in files.items()}
    assert changed_inputs(present_digests(project), read) == []
    for path in (*files.values(), project.package / "two.py"):
        path.write_text("another")
    assert changed_inputs(present_digests(project), read) == list(read)
    later = inputs_read(project, log, ["two.py"])
    assert later == dict.fromkeys([*files, "toypkg/two.py"], CHANGED), "sources, too"


def test_libraries_and_variables_that_tasks_may_read_are_compared_without_being_shown(
    toy, monkeypatch
):
    monkeypatch.setenv("SCALE", "a secret")
    settings = replace(toy.project.settings, environment=("SCALE", "NOT_SET"), libraries=("numpy",))
    project = replace(toy.project, settings=settings)
    ours = settings_of(project)
    assert set(ours) == {"Python", "ntpcompanion", "numpy", "the variable SCALE"}
    assert "secret" not in str(ours)
    monkeypatch.setenv("SCALE", "2")
    changed = {name for name, value in settings_of(project).items() if value != ours[name]}
    assert changed == {"the variable SCALE"}


def test_a_variable_that_tasks_may_read_is_in_their_key(importable, monkeypatch):
    importable.plan_halves()
    settings = replace(importable.project.settings, environment=("SCALE",))
    target = ExperimentTarget(replace(importable.project, settings=settings), "halves")
    keys = []
    for scale in ("1", "2", "1"):
        monkeypatch.setenv("SCALE", scale)
        keys += [point.key for point in target.points([{"n": 1}])]
    assert keys[0] == keys[2] != keys[1]
