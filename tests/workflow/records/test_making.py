import json
import sys

import pytest

from ntpcompanion.workflow.records.making import make_record
from ntpcompanion.workflow.sweeps.campaign import Options
from tests.refusing import refused
from tests.workflow.halves import PLAN


def test_a_record_says_what_made_it(study):
    path = make_record(study.project, "halves", Options(jobs=1))
    data = json.loads(path.read_text())
    assert [item["result"] for item in data["results"]] == [
        {"half": 1.0},
        {"half": 2.0},
        {"half": 3.0},
    ]
    assert data["results"][2]["parameters"] == {"scale": 2, "n": 3}
    assert set(data["sources"]) == {
        *("Plan", "Plan (2)", "Result", "Result (2)", "run", "half", "TWO")
    }
    assert data["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert data["seconds"] == pytest.approx(
        sum(item["seconds"] for item in data["results"]), abs=0.05
    )
    assert not list((study.project.build / "records").glob("*"))


def test_unknown_names(study):
    with refused(r"No record 'halfs'. Did you mean 'halves'\?"):
        make_record(study.project, "halfs")
    study.plan_records(halves={**PLAN, "experiment": "studi"})
    words = r"^`experiment: studi` is not a module of toypkg.experiments. Did you mean 'study'\?"
    with refused(words):
        make_record(study.project, "halves", Options(jobs=1))
    study.plan_records(halves={**PLAN, "grid": {"n": [1, 2.5]}})
    words = (
        r"'n': 2.5} is not a plan of toypkg.experiments.study: `n` should be a valid integer, got"
    )
    with refused(words):
        make_record(study.project, "halves", Options(jobs=1))
    assert not (study.project.build / "records").exists(), "known before anything is started"
