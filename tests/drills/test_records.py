"""A record that was edited by hand, is outdated, of another schema, or missing; a plan that reaches
out of its folder.
"""

import json

import pytest

from ntpcompanion.workflow.base.files import checksum
from tests.toy import make_importable

SHOWN = {
    "inputs: [text]": "inputs: [text], records: [halves]",
    "import measure": "import measure, show_record",
    'measure("toy.words"': '_ = show_record("halves")\nmeasure("toy.words"',
}


@pytest.fixture
def recorded(executed, monkeypatch):
    """The notebook `words` shows the record `halves`."""
    make_importable(executed, monkeypatch)
    executed.plan_halves()
    for old, new in SHOWN.items():
        executed.edit("notebooks/words.md", old, new)
    assert "Wrote" in executed.command("record", "halves", "--jobs", "1")
    return executed


def page(toy):
    return (toy.project.html("book") / "chapters" / "words.html").read_text()


@pytest.mark.slow
def test_an_outdated_record_is_shown_as_outdated(recorded):
    recorded.command("build")
    assert "matches the present code" in page(recorded)
    recorded.edit("toypkg/two.py", "TWO = 2", "TWO = 1 + 1")
    assert "words (book): up to date" in recorded.command("build"), (
        "the record did not change, so its notebook does not run"
    )
    assert "outdated: TWO changed since" in page(recorded)
    # other numbers: two runs of one plan may take equally long, and then nothing has changed
    recorded.plan_halves(about="Other words.", grid={"n": [1, 3]})
    recorded.command("build")
    assert "outdated: TWO, book/records/plans.yml changed since" in page(recorded)
    assert "Wrote" in recorded.command("record", "halves", "--jobs", "1")
    assert recorded.command("why", "words") == "words (book): inputs: record halves changed"


NOT_A_RECORD = (
    "is not a record 'halves' of schema 2. Make it again with `ntpcompanion record halves`"
)
FORGED = {
    "edited": (
        lambda data: data | {"results": []},
        "halves.json does not match its own checksum: it was edited or damaged",
    ),
    "other schema": (lambda data: sealed(data | {"schema": 1}), NOT_A_RECORD),
    "other name": (lambda data: sealed(data | {"name": "other"}), NOT_A_RECORD),
    "no hardware": (
        lambda data: sealed({k: v for k, v in data.items() if k != "hardware"}),
        NOT_A_RECORD,
    ),
    "no object": (lambda data: [data], "does not match its own checksum"),
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(*case, id=name, marks=[pytest.mark.slow] * (name != "edited"))
        for name, case in FORGED.items()
    ],
)
def test_a_record_that_cannot_be_trusted_stops_the_build(recorded, change, words):
    recorded.command("execute")
    path = recorded.project.records / "halves.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    output = recorded.command("build", code=1)
    assert words in output
    assert not recorded.project.html("book").exists()


def sealed(data):
    return data | {"checksum": checksum(data)}


def test_a_missing_record_is_named(recorded):
    (recorded.project.records / "halves.json").unlink()
    output = recorded.command("build", code=1)
    assert "Notebook 'words' shows the record 'halves'" in output
    assert "Make it with `ntpcompanion record halves`" in output


@pytest.mark.parametrize(
    "name",
    [
        "../../outside",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("a/b", "/tmp/outside", "a name", "")
        ),
    ],
)
def test_no_record_is_written_outside_of_its_folder(recorded, name):
    plan = {"experiment": "halves", "about": "Halves of numbers.", "grid": {"n": [1]}}
    recorded.plan_records(**{name: plan})
    output = recorded.command("record", name, code=1)
    assert f"plans.yml: {name!r} is not a name of a record: letters, digits, - and _ only" in output


STUDY = """import math, pathlib

def run(plan):
    with open(ROOT / "calls.txt", "a") as file:
        file.write(f"{plan.n} ")
    bad = plan.n == 1 and not pathlib.Path(ROOT, "fixed").exists()
    return Result(value=BAD if bad else plan.n)
"""


@pytest.mark.slow
@pytest.mark.parametrize("bad", ["math.nan", "object()"])
def test_a_result_that_no_record_can_hold_fails_its_task_and_no_other(importable, bad):
    importable.write_experiment("study", STUDY.replace("BAD", bad))
    importable.plan_records(
        study={"experiment": "study", "about": "Numbers.", "grid": {"n": [0, 1, 2]}}
    )
    output = importable.command("record", "study", "--jobs", "1", code=1)
    assert "error: The task {'n': 1} failed: ValueError: what it returned cannot be kept." in output
    (log,) = (importable.project.build / "records").glob("*.jsonl")
    kept = [json.loads(line)["result"] for line in log.read_text().splitlines() if line]
    assert {"value": 0} in kept
    assert f"{len(kept)} of 3 tasks are finished and kept" in output
    (importable.project.root / "fixed").touch()
    assert "Wrote" in importable.command("record", "study", "--jobs", "1")
    assert (importable.project.root / "calls.txt").read_text().split().count("0") == 1, (
        "what was finished is not run again"
    )
