"""What is taken from an earlier run: only what fits the present sources, data and machine."""

import contextlib
import json
from concurrent.futures import Future

import pytest

from ntpcompanion.workflow.base.files import checksum, read_sealed, write_sealed
from ntpcompanion.workflow.base.provenance import hardware
from ntpcompanion.workflow.base.tracing import state_of
from ntpcompanion.workflow.records.making import make_record, verify_record
from ntpcompanion.workflow.records.record import load_record, read_stored
from ntpcompanion.workflow.records.show import show_record
from ntpcompanion.workflow.sweeps import campaign
from ntpcompanion.workflow.sweeps.campaign import Campaign, Options, append, appended
from ntpcompanion.workflow.sweeps.executors import SILENT, Executor
from ntpcompanion.workflow.sweeps.targets import ExperimentTarget, Point
from tests.refusing import refused
from tests.workflow.halves import STORED

SCALED = """
FILES = ("data.csv",)
CALLS = []  # no task sees what another has left here

def run(plan):
    CALLS.append(plan.n)
    with open(ROOT / "calls", "a") as file:
        file.write(f"{plan.n} ")
    if plan.n == 3 and pathlib.Path(ROOT, "broken").exists():
        raise RuntimeError("broken")
    return Result(value=[plan.n * float(open("data.csv").read()), len(CALLS)])
"""


@pytest.fixture
def scaled(importable):
    """An experiment that multiplies by what stands in `data.csv`, and the plan of its record."""
    importable.write_experiment("scaled", SCALED)
    plan = {"experiment": "scaled", "about": "Multiples.", "grid": {"n": [1, 2, 3, 4]}}
    importable.plan_records(scaled=plan)
    (importable.project.root / "data.csv").write_text("1")
    return importable


def called(toy):
    """The tasks that have run since the last call."""
    calls = toy.project.root / "calls"
    found = calls.read_text().split() if calls.exists() else []
    calls.unlink(missing_ok=True)
    return found


def values(path):
    return [line["result"]["value"] for line in json.loads(path.read_text())["results"]]


def interrupt(toy):
    """Make the record until its third task fails; its journal."""
    (toy.project.root / "broken").touch()
    with refused(r"failed: RuntimeError: broken"):
        make_record(toy.project, "scaled", Options(jobs=1))
    (toy.project.root / "broken").unlink()
    assert called(toy) == ["1", "2", "3"]
    (journal,) = (toy.project.build / "records").glob("*.jsonl")
    return journal


def test_a_line_that_was_edited_is_made_again_and_no_task_sees_another(scaled):
    journal, notes = interrupt(scaled), []
    journal.write_text(journal.read_text().replace("[2.0, 1]", "[222.0, 1]"))
    path = make_record(scaled.project, "scaled", Options(jobs=1, note=notes.append))
    assert values(path) == [[1.0, 1], [2.0, 1], [3.0, 1], [4.0, 1]]
    assert called(scaled) == ["2", "3", "4"]
    (note,) = notes
    assert "The line of {'n': 2} does not match its own checksum: it was edited or dam" in note
    assert note.endswith("The task is run again.")


def test_tasks_that_have_read_another_data_file_are_made_again(scaled):
    interrupt(scaled)
    notes, data = [], scaled.project.root / "data.csv"
    data.write_text("100")
    path = make_record(scaled.project, "scaled", Options(jobs=1, note=notes.append))
    assert values(path) == [[100.0, 1], [200.0, 1], [300.0, 1], [400.0, 1]]
    assert "{'n': 1} was made with another content of data.csv" in notes[0]
    assert read_sealed(path)["inputs"] == {"data.csv": state_of(data)}
    assert load_record(scaled.project, "scaled").outdated == []
    data.write_text("10")
    assert load_record(scaled.project, "scaled").outdated == ["data.csv"]


def test_a_verification_computes_whatever_an_earlier_one_has_left(scaled):
    plan = {"experiment": "scaled", "about": "Multiples.", "grid": {"n": [1, 2]}}
    scaled.plan_records(scaled=plan)
    path = make_record(scaled.project, "scaled", Options(jobs=1))
    assert called(scaled) == ["1", "2"]
    data = read_sealed(path)
    del data["checksum"]
    data["results"][1]["result"]["value"] = [222.0, 1]
    write_sealed(path, data)
    for _ in range(2):
        with refused(r"value.0: 222.0 → 2.0.* of value.0 is relative"):
            verify_record(scaled.project, "scaled", 2, Options(jobs=1))
        assert called(scaled) == ["1", "2"]


@pytest.fixture
def journal(toy):
    """A function: the notes on a journal with one line, after a change of it."""

    def notes(scheduler=None, **changes):
        line = {"key": "a", "parameters": {"n": 1}, "state": "done", "result": 1, "seconds": 0.1}
        path, found = toy.project.root / "journal.jsonl", []
        path.unlink(missing_ok=True)
        with appended(path) as file:
            append(file, {**line, "read": {}, "hardware": hardware(), **changes})
        campaign = Campaign(
            ExperimentTarget(toy.project, "halves"), [Point({}, {}, "a", dict)], path
        )
        lines = campaign.finished(Options(scheduler=scheduler, note=found.append))
        assert len(lines) + len(found) == 1
        return "".join(found)

    return notes


def test_a_line_names_what_does_not_fit(journal, toy):
    text = state_of(toy.project.root / "words.txt")
    assert journal(read={"words.txt": text}) == ""
    assert "with another content of words.txt" in journal(read={"words.txt": "0"})
    assert "with another content of gone.csv" in journal(read={"gone.csv": text})
    cores = {**hardware(), "cores": hardware()["cores"] + 1}
    assert f", {cores['cores']} cores). The task is run again." in journal(hardware=cores)
    assert journal(scheduler="tcp://a:1", hardware={}) == "", "a cluster may have others"


@pytest.mark.parametrize("needs_all", [True, False])
def test_data_files_that_differ_where_a_task_ran_are_named(scaled, monkeypatch, needs_all):
    read = {}

    def submit(task):
        future = Future()
        done = {"state": "done", "read": read, "host": "node7", "hardware": hardware()}
        future.set_result({**SILENT, **done, "seconds": 0.1})
        return future

    @contextlib.contextmanager
    def elsewhere(*_, **__):
        yield Executor(submit, lambda: 1)

    def rows(n):
        target = ExperimentTarget(scaled.project, "scaled")
        journal = scaled.project.build / "scaled.jsonl"
        return campaign.compute(
            campaign.Campaign(target, target.points([{"n": n}]), journal, needs_all=needs_all)
        )

    monkeypatch.setattr(campaign, "executor_for", elsewhere)
    assert len(rows(1)) == 1
    read["data.csv"] = state_of(scaled.project.root / "data.csv")
    assert len(rows(2)) == 1
    read["data.csv"] = "0"
    with refused(r"^A task on node7 has read data.csv with another content than"):
        rows(3)


ONE, TWO, THREE = STORED["results"]


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ([ONE, TWO], '1 missing, such as {"n":3,"scale":2}'),
        ([ONE, ONE, ONE], '2 missing, such as {"n":2,"scale":2}'),
        ([ONE, TWO, THREE, THREE], "1 too many"),
        ([TWO, ONE, THREE], "in another order"),
        ([], "3 missing"),
    ],
)
def test_a_record_holds_the_tasks_of_its_plan(study, results, words):
    write_sealed(study.project.records / "halves.json", {**STORED, "results": results})
    for read in (lambda: read_stored(study.project, "halves"), lambda: show_record("halves")):
        with refused(r"does not hold the 3 tasks of its plan") as caught:
            read()
        assert words in str(caught.value)
    assert checksum(STORED)
