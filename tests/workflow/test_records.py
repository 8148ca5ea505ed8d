import json
import os
import signal
import subprocess
import sys
import time

import pytest
import yaml

from ntpcompanion.workflow.build import prepare_pages
from ntpcompanion.workflow.errors import WorkflowError
from ntpcompanion.workflow.files import checksum
from ntpcompanion.workflow.project import Project
from ntpcompanion.workflow.recorded import show_record
from ntpcompanion.workflow.records import banner, load_record, make_record, read_plans

PLAN = {"about": "Halves of numbers.", "function": "toypkg.study:half_of", "fixed": {"scale": 2}, "grid": {"n": [1, 2, 3]}}
STUDY = """from pathlib import Path
from toypkg.half import half

def half_of(n, scale):
    with Path("calls.txt").open("a") as file:
        file.write(f"{n}\\n")
    return {"half": half(n) * scale}

def slow(n, checkpoint):
    import time
    (checkpoint / "here").write_text(str(n))
    with Path("calls.txt").open("a") as file:
        file.write(f"{n}\\n")
    time.sleep(0.0 if n < 2 else 1.5)
    return n
"""


@pytest.fixture
def study(toy, monkeypatch):
    (toy.project.package / "study.py").write_text(STUDY)
    monkeypatch.syspath_prepend(str(toy.project.root))
    monkeypatch.setenv("PYTHONPATH", str(toy.project.root))
    for name in [name for name in sys.modules if name.split(".")[0] == "toypkg"]:
        monkeypatch.delitem(sys.modules, name)
    plans(toy, halves=PLAN)
    return toy


def plans(toy, **entries):
    (toy.project.records / "plans.yml").write_text(yaml.safe_dump(entries))


def calls(toy):
    return (toy.project.root / "calls.txt").read_text().split()


def test_a_record_says_what_made_it(study):
    path = make_record(study.project, "halves", jobs=1)
    data = json.loads(path.read_text())
    assert [item["result"] for item in data["results"]] == [{"half": 1.0}, {"half": 2.0}, {"half": 3.0}]
    assert data["results"][2]["parameters"] == {"scale": 2, "n": 3}
    assert set(data["sources"]) == {"__init__.py", "half.py", "study.py", "two.py"}
    assert data["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    record = load_record(study.project, "halves")
    assert record.outdated == []
    assert "matches the present code" in banner(record)
    assert not list((study.project.build / "records").glob("*"))


def test_a_notebook_shows_a_record_under_a_banner_of_the_present(study):
    with pytest.raises(WorkflowError, match=r"No record 'halves' at or above .* Make it with `ntpcompanion record halves`"):
        show_record("halves")
    make_record(study.project, "halves", jobs=1)
    assert [item["result"]["half"] for item in show_record("halves")] == [1.0, 2.0, 3.0]
    study.edit("notebooks/words.md", "inputs: [text]", "inputs: [text], records: [halves]")
    study.edit("notebooks/words.md", "from ntpcompanion.workflow import measure", "from ntpcompanion.workflow import measure, show_record")
    study.edit("notebooks/words.md", 'measure("toy.words"', 'show_record("halves")\nmeasure("toy.words"')
    assert study.execute()["words"].status == "done"
    source, _ = prepare_pages(study.project, study.runs(), "book")
    page = (source / "chapters" / "words.ipynb").read_text()
    assert "Recorded run" in page
    assert "matches the present code" in page
    study.edit("toypkg/two.py", "TWO = 2", "TWO = 2  # changed")
    study.execute()
    prepare_pages(study.project, study.runs(), "book")
    assert "outdated: two.py changed since" in (source / "chapters" / "words.ipynb").read_text()
    plans(study, halves={**PLAN, "fixed": {"scale": 3}})
    make_record(study.project, "halves", jobs=1)
    assert study.reasons("words") == ["inputs: record halves changed"]


def test_changed_code_or_plan_is_said(study):
    make_record(study.project, "halves", jobs=1)
    study.edit("toypkg/two.py", "TWO = 2", "TWO = 3")
    assert load_record(study.project, "halves").outdated == ["two.py"]
    plans(study, halves={**PLAN, "about": "Other words."})
    assert load_record(study.project, "halves").outdated == ["two.py", "book/records/plans.yml"]
    assert "outdated: " in banner(load_record(study.project, "halves"))


def test_edited_foreign_or_missing_records_are_refused(study):
    with pytest.raises(WorkflowError, match=r"halves.json does not exist. Make it with `ntpcompanion record halves`"):
        load_record(study.project, "halves")
    path = make_record(study.project, "halves", jobs=1)
    text = path.read_text()
    path.write_text(text.replace('"half": 1.0', '"half": 1.5'))
    with pytest.raises(WorkflowError, match=r"does not match its own checksum"):
        load_record(study.project, "halves")
    data = {**json.loads(text), "schema": 2}
    path.write_text(json.dumps({**data, "checksum": checksum(data)}))
    with pytest.raises(WorkflowError, match=r"is no record 'halves' of schema 1"):
        load_record(study.project, "halves")


def test_a_killed_record_resumes_from_its_last_task(study):
    plans(study, slow={**PLAN, "function": "toypkg.study:slow", "fixed": {}, "grid": {"n": [0, 1, 2]}})
    process = subprocess.Popen(
        [sys.executable, "-m", "ntpcompanion.cli", "record", "slow", "--jobs", "1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not ((study.project.root / "calls.txt").exists() and "2" in calls(study)) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    path = make_record(Project(study.project.root), "slow", jobs=1)  # the package that the command line saw
    assert [item["result"] for item in json.loads(path.read_text())["results"]] == [0, 1, 2]
    assert calls(study) == ["0", "1", "2", "2"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"function": "toypkg.study.half_of"}, r"String should match pattern"),
        ({"grid": {}}, r"Dictionary should have at least 1 item"),
        ({"grid": {"n": []}}, r"List should have at least 1 item"),
        ({"seeds": 1}, r"Extra inputs are not permitted"),
    ],
)
def test_faults_of_the_plans(study, change, words):
    plans(study, halves={**PLAN, **change})
    with pytest.raises(WorkflowError, match=words):
        read_plans(study.project)


def test_unknown_names(study):
    with pytest.raises(WorkflowError, match=r"No record 'halfs'. Did you mean 'halves'\?"):
        make_record(study.project, "halfs")
    plans(study, halves={**PLAN, "function": "toypkg.study:halve"})
    with pytest.raises(WorkflowError, match=r"`function: toypkg.study:halve` names no function"):
        make_record(study.project, "halves", jobs=1)
