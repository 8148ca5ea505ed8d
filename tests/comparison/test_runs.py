import json

import pytest

from ntpcompanion.comparison.runs import compare
from ntpcompanion.comparison.table import recorded_table

TINY = {
    "language": "hmm-4",
    "shape": {"width": 8, "layers": 1, "heads": 2},
    "training": {"steps": 60, "batch": 32, "rate": 1e-2},
    "seed": 0,
    "places": [3],
    "examples": [200, 100],
    "sentences": 50,
    "evaluations": 3,
    "probe": {"epochs": 2, "batch": 64},
    "yardstick": {"inputs": 10, "labels": 2},
}
MORE = {
    "sgd": {"steps": 8, "batch": 8, "rate": 0.1, "schedule": "constant"},
    "attack": {"steps": 4, "batch": 8, "rate": 1e-3},
    "adversaries": [{"weight": w, "ridge": 1.0, "first": 30, "second": 20} for w in (0.0, 5.0)],
    "fine_tuning": {"epochs": 1, "rate": 1e-3},
    "enlarged": {"width": 16, "layers": 2, "heads": 4},
}


@pytest.fixture(scope="module")
def run():
    return compare(**TINY, **MORE)


def test_phases_follow_each_other_and_start_where_the_training_ended(run):
    points = run["points"]
    by_phase = {
        phase: [p for p in points if p["phase"] == phase]
        for phase in ("pretraining", "sgd", "adversarial")
    }
    assert [p["step"] for p in by_phase["pretraining"]] == [0, 2, 60]
    assert [p["step"] for p in by_phase["sgd"]] == [2, 4, 6, 8]
    last = by_phase["pretraining"][-1]
    assert last["kl"] < 0.9 * points[0]["kl"]
    assert by_phase["sgd"][0]["kl"] == pytest.approx(last["kl"], rel=0.3)
    assert [p["weight"] for p in by_phase["adversarial"]] == [0.0, 5.0]
    assert by_phase["adversarial"][0]["kl"] != by_phase["adversarial"][1]["kl"]


def test_steps_that_do_not_move_leave_the_model_where_its_training_ended():
    still = {"steps": 4, "batch": 8, "rate": 1e-12}
    points = compare(**TINY, sgd=still, attack=still, adversaries=MORE["adversaries"])["points"]
    last, later = points[2], points[3:]
    assert len(later) == 6
    for point in later:
        assert (point["kl"], point["fisher"]) == pytest.approx(
            (last["kl"], last["fisher"]), rel=1e-5
        )


def test_what_is_optional_is_measured_where_it_was_asked_for(run):
    assert {p["phase"] for p in run["points"] if "fine_tuned" in p} == {
        "pretraining",
        "adversarial",
    }
    assert set(run["enlarged"]) == {"released", "balanced"}
    plain = compare(**TINY, lines=False)
    assert {p["phase"] for p in plain["points"]} == {"pretraining"}
    assert plain["enlarged"] == plain["lines"] == {}
    assert not any("fine_tuned" in p for p in plain["points"])
    same = [(p["kl"], p["fisher"], p["accuracies"]) for p in plain["points"]]
    assert same == [(p["kl"], p["fisher"], p["accuracies"]) for p in run["points"][:3]]


def test_the_result_is_plain_values(run):
    assert json.loads(json.dumps(run)) == run
    assert run["parameters"] > 1000
    table = recorded_table([{"parameters": {**TINY, **MORE}, "result": run}])
    assert table.kl.tolist() == [p["kl"] for p in run["points"]]
    assert {
        "probe 3",
        "closed form 3",
        "fine-tuned",
        "lookup 3",
        "words, closed form 3",
        "bayes 3",
    } <= set(table)
    assert set(run["lines"]["3"]) == {
        "chance",
        "bayes",
        *("lookup", "words"),
        "lookup, closed form",
        "words, closed form",
    }


def test_names_are_checked_before_anything_is_trained():
    with pytest.raises(ValueError, match=r"there is no 'hmm-5'\. Did you mean 'hmm-4'"):
        compare(**{**TINY, "language": "hmm-5"})
    with pytest.raises(ValueError, match=r"`training`: there is no 'step'\. Did you mean 'steps'"):
        compare(**{**TINY, "training": {"step": 3, "batch": 2}})
