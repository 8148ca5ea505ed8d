import json
import re
import sys

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256, write_sealed
from ntpcompanion.workflow.records import record
from ntpcompanion.workflow.records.record import banner, load_record, make_record, read_plans

PLAN = {
    "about": "Halves of numbers.",
    "experiment": "study",
    "fixed": {"scale": 2},
    "grid": {"n": [1, 2, 3]},
}
STUDY = """
from toypkg.half import half


class Plan(experiment.Plan):
    n: int
    scale: int = 2


class Result(experiment.Result):
    half: float


def run(plan, checkpoint):
    (checkpoint / "begun").touch()
    if plan.n == 0:
        raise ZeroDivisionError("nothing to halve")
    return Result(half=half(plan.n) * plan.scale)
"""


@pytest.fixture
def study(importable):
    importable.write_experiment("study", STUDY)
    importable.plan_records(halves=PLAN)
    return importable


def test_a_record_says_what_made_it(study):
    path = make_record(study.project, "halves", jobs=1)
    data = json.loads(path.read_text())
    assert [item["result"] for item in data["results"]] == [
        {"half": 1.0},
        {"half": 2.0},
        {"half": 3.0},
    ]
    assert data["results"][2]["parameters"] == {"scale": 2, "n": 3}
    assert set(data["sources"]) == {
        "__init__.py",
        "experiments/__init__.py",
        "experiments/study.py",
        "half.py",
        "two.py",
    }
    assert data["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert data["seconds"] == pytest.approx(
        sum(item["seconds"] for item in data["results"]), abs=0.05
    )
    assert not list((study.project.build / "records").glob("*"))


STORED = {
    "schema": record.SCHEMA,
    "name": "halves",
    "plan": PLAN,
    "results": [{"parameters": {"n": 1}, "result": 0.5, "seconds": 0.1}],
    "sources": {},
    "versions": {},
    "hardware": {"processor": "A chip", "cores": 2},
    "started": "2026",
    "finished": "2026",
    "seconds": 1.0,
}
OTHERS = [
    {"schema": 2},
    {"name": "other"},
    {"hardware": None},
    {"more": 1},
    {"seconds": "1"},
    {"hardware": {}},
    {"plan": []},
    {"results": 3},
]
OTHERS += [
    {"results": [{"result": 1}]},
    {"sources": [1]},
    {"finished": None},
    {"plan": PLAN | {"experiment": "class"}},
    {"seconds": True},
]


def test_what_is_such_a_record_is_read(study):
    write_sealed(study.project.records / "halves.json", STORED)
    assert load_record(study.project, "halves").made.startswith(
        "2026, 1 s of computing on A chip, 2 cores"
    )


@pytest.mark.parametrize("change", OTHERS, ids=str)
def test_what_is_no_such_record_is_not_read(study, change):
    write_sealed(
        study.project.records / "halves.json",
        {name: value for name, value in (STORED | change).items() if value is not None},
    )
    with pytest.raises(
        WorkflowError,
        match=(
            r"halves.json is no record 'halves' of schema 1. Make it again with `ntpcompanion "
            r"record halves`"
        ),
    ):
        load_record(study.project, "halves")


def test_a_record_says_what_no_longer_matches_it(study):
    plan = {"about": "Halves of numbers.", "experiment": "study", "grid": {"n": [1, 2]}}
    study.plan_records(halves=plan)
    path = make_record(study.project, "halves", jobs=1)
    text = banner(load_record(study.project, "halves"))
    assert text.startswith(
        '<p class="ntp-record ntp-current"><strong>Recorded run</strong> halves: Halves of '
        "numbers. Made 2"
    )
    source = sha256(canonical_json(json.loads(path.read_text())["sources"]))[:12]
    assert text.endswith(f", source {source}; matches the present code.</p>")
    study.edit("toypkg/two.py", "TWO = 2", "TWO = 3")
    study.plan_records(halves={**plan, "about": "Thirds."})
    text = banner(load_record(study.project, "halves"))
    assert text.startswith('<p class="ntp-record ntp-outdated">')
    assert text.endswith("; outdated: two.py, book/records/plans.yml changed since.</p>")
    study.plan_records()
    assert load_record(study.project, "halves").outdated == ["two.py", "book/records/plans.yml"]
    path.unlink()
    with pytest.raises(
        WorkflowError,
        match=r"halves.json does not exist. Make it with `ntpcompanion record halves`",
    ):
        load_record(study.project, "halves")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"experiment": "toypkg.study"},
            r"plans.yml: halves.experiment: .*must be the name of a module of the package's "
            r"experiments, got 'toypkg.study'",
        ),
        ({"experiment": "1study"}, r"must be the name of a module"),
        ({"experiment": "class"}, r"must be the name of a module"),
        ({"fixed": {"scale": float("nan")}}, r"halves.fixed.scale: .*JSON cannot hold it"),
        ({"fixed": [1]}, r"halves.fixed: Input should be a valid dictionary, got \[1\]"),
        ({"grid": {"n": [float("inf")]}}, r"halves.grid.n.0: .*JSON cannot hold it"),
        ({"grid": {1: [1]}}, r"halves.grid.1.\[key\]: Input should be a valid string, got 1"),
        ({"grid": {}}, r"Dictionary should have at least 1 item"),
        ({"grid": {"n": []}}, r"List should have at least 1 item"),
        ({"seeds": 1}, r"Extra inputs are not permitted"),
    ],
)
def test_faults_of_the_plans(study, change, words):
    study.plan_records(halves={**PLAN, **change})
    with pytest.raises(WorkflowError, match=words):
        read_plans(study.project)


@pytest.mark.parametrize("name", ["../outside", "a name", ""])
def test_a_record_has_the_name_of_a_file(study, name):
    study.plan_records(**{name: PLAN})
    with pytest.raises(
        WorkflowError,
        match=rf"plans.yml: '{name}' is no name of a record: letters, digits, - and _ only",
    ):
        read_plans(study.project)


def test_unknown_names(study):
    with pytest.raises(WorkflowError, match=r"No record 'halfs'. Did you mean 'halves'\?"):
        make_record(study.project, "halfs")
    study.plan_records(halves={**PLAN, "experiment": "studi"})
    words = r"^`experiment: studi` is no module of toypkg.experiments. Did you mean 'study'\?"
    with pytest.raises(WorkflowError, match=words):
        make_record(study.project, "halves", jobs=1)
    study.plan_records(halves={**PLAN, "grid": {"n": [1, 2.5]}})
    words = r"'n': 2.5} is no plan of toypkg.experiments.study: `n` should be a valid integer, got"
    with pytest.raises(WorkflowError, match=words):
        make_record(study.project, "halves", jobs=1)
    assert not (study.project.build / "records").exists(), "known before anything is started"


def test_a_failing_task_is_named_with_its_traceback_and_the_others_are_kept(study):
    study.plan_records(halves={**PLAN, "grid": {"n": [0, 1, 2]}})
    with pytest.raises(WorkflowError) as caught:
        make_record(study.project, "halves", jobs=2)
    words = str(caught.value)
    assert words.startswith(
        "The task {'scale': 2, 'n': 0} failed: ZeroDivisionError: nothing to halve\n"
    )
    assert "in run" in words
    kept = int(
        re.search(
            r"(\d) of 3 tasks are finished and kept: mend it and run the same command again.$",
            words,
        )[1]
    )
    assert kept >= 1, "what ran beside it was waited for"
    (log,) = (study.project.build / "records").glob("*.jsonl")
    assert len(log.read_text().split("\n")) - 1 == kept
