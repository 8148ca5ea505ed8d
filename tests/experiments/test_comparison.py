import json

import pytest

from ntpcompanion.experiments.comparison import Plan, Result, run
from ntpcompanion.experiments.comparison_table import comparison_table, read_runs

TINY = {
    "language": "hmm-4",
    "shape": {"width": 8, "layers": 1, "heads": 2},
    "training": {"steps": 60, "batch_size": 32, "learning_rate": 1e-2},
    "seed": 0,
    "places": [3],
    "examples": [200, 100],
    "sentences": 50,
    "evaluations": 3,
    "probe": {"epochs": 2, "batch_size": 64},
    "evaluation": {"inputs": 10, "labels": 2},
}
MORE = {
    "sgd": {"steps": 8, "batch_size": 8, "learning_rate": 0.1, "schedule": "constant"},
    "attack": {"steps": 4, "batch_size": 8, "learning_rate": 1e-3},
    "adversaries": [{"weight": w, "ridge": 1.0, "first": 30, "second": 20} for w in (0.0, 5.0)],
    "fine_tuning": {"epochs": 1, "learning_rate": 1e-3},
    "enlarged": {"width": 16, "layers": 2, "heads": 4},
}


@pytest.fixture(scope="module")
def full():
    return run(Plan.from_json({**TINY, **MORE}))


def test_phases_follow_each_other_and_start_where_the_training_ended(full):
    by_phase = {
        phase: [p for p in full.points if p.phase == phase]
        for phase in ("pretraining", "sgd", "adversarial")
    }
    assert [p.step for p in by_phase["pretraining"]] == [0, 2, 60]
    assert [p.step for p in by_phase["sgd"]] == [2, 4, 6, 8]
    last = by_phase["pretraining"][-1]
    assert last.kl < 0.9 * full.points[0].kl
    assert by_phase["sgd"][0].kl == pytest.approx(last.kl, rel=0.3)
    assert [p.weight for p in by_phase["adversarial"]] == [0.0, 5.0]
    assert by_phase["adversarial"][0].kl != by_phase["adversarial"][1].kl


def test_steps_that_do_not_move_leave_the_model_where_its_training_ended():
    still = {"steps": 4, "batch_size": 8, "learning_rate": 1e-12}
    after = {"sgd": still, "attack": still, "adversaries": MORE["adversaries"]}
    points = run(Plan.from_json({**TINY, **after})).points
    last, later = points[2], points[3:]
    assert len(later) == 6
    for point in later:
        assert (point.kl, point.fisher) == pytest.approx((last.kl, last.fisher), rel=1e-5)


def test_what_is_optional_is_measured_where_it_was_asked_for(full):
    assert {p.phase for p in full.points if p.fine_tuned} == {"pretraining", "adversarial"}
    assert set(full.enlarged) == {"released", "balanced"}
    plain = run(Plan.from_json({**TINY, "lines": False}))
    assert {p.phase for p in plain.points} == {"pretraining"}
    assert plain.enlarged == plain.lines == {}
    assert not any(p.fine_tuned for p in plain.points)
    same = [(p.kl, p.fisher, p.accuracies) for p in plain.points]
    assert same == [(p.kl, p.fisher, p.accuracies) for p in full.points[:3]]


def test_plans_and_results_survive_json(full):
    plan = Plan.from_json({**TINY, **MORE})
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
    assert Result.from_json(json.loads(json.dumps(full.to_json()))) == full
    assert full.parameters > 1000


def test_a_recorded_run_is_a_table(full):
    (pair,) = read_runs([{"parameters": {**TINY, **MORE}, "result": full.to_json()}])
    table = comparison_table([pair])
    assert table.kl.tolist() == [p.kl for p in full.points]
    heads = {"probe 3", "closed form 3", "fine-tuned"}
    assert heads | {"lookup 3", "words, closed form 3", "bayes 3", "chance 3"} <= set(table)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"language": "hmm4"}, r"`language`: there is no 'hmm4'\. Did you mean 'hmm-4'"),
        ({"shape": {"width": 8, "layers": 1}}, "`shape.heads` is missing"),
        ({"training": {"step": 3, "batch_size": 2}}, "`training.step` is no field"),
        ({"seed": -1}, "`seed` .*greater than or equal to 0, got -1"),
        ({"places": []}, "`places` .*at least 1 item"),
        ({"examples": [20]}, "`examples.1` is missing"),
        ({"probe": {"epochs": 0}}, "`epochs` must be at least 1, and finite, got 0"),
        ({"evaluation": {"directions": 3}}, "`evaluation.directions` is no field"),
        ({"sentences": 4}, "`sentences` .*greater than or equal to 5, got 4"),
        ({"evaluations": 1}, "`evaluations` .*greater than or equal to 2, got 1"),
        ({"sgd": {"steps": 3}}, "`sgd.batch_size` is missing"),
        ({"attack": {"steps": 0, "batch_size": 1}}, "`steps` must be a whole .* 1, got 0"),
        ({"adversaries": MORE["adversaries"]}, "`attack` must say how the 2 `adversaries` are"),
        ({"adversaries": [{"weight": 1.0}]}, "`adversaries.0.ridge` is missing"),
        ({"fine_tuning": {"scaling": "no"}}, "`scaling` must be one of none, .* got 'no'"),
        ({"enlarged": {"width": 8, "layers": 1, "heads": "2"}}, "`enlarged.heads` .* got '2'"),
        ({"lines": "yes"}, "`lines` .*valid boolean, got 'yes'"),
        ({"device": 0}, "`device` .*valid string, got 0"),
    ],
)
def test_every_field_of_a_plan_is_checked(change, message):
    with pytest.raises(ValueError, match=message):
        Plan.from_json({**TINY, **change})
