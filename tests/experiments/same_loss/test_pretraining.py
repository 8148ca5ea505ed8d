import json

import pytest
import torch

from ntpcompanion.experiments.same_loss.pretraining import Plan, Result, run, train_and_measure
from ntpcompanion.mlm.evaluation.evaluate import draw_test_set, evaluate
from ntpcompanion.mlm.training.train import train
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from tests.mlm.cases import MIXED, SMALL, TRANSFORMER, same

TRAINING = TrainingPlan(8, 4)
PLAN = Plan(language=SMALL, model=TRANSFORMER, training=TRAINING, evaluations=3, sentences=50)
VALUES = {
    "language": "hmm-4",
    "model": "transformer-64x1",
    "training": {"steps": 8, "batch_size": 4, "betas": [0.5, 0.6]},
}


def numbers(result):
    """A curve without the seconds."""
    return [{**vars(point), "seconds": 0} for point in result.curve]


def test_a_run_returns_its_curve_and_what_made_it():
    told = []
    result = run(PLAN, report=told.append)
    assert list(result.curve) == told
    assert [point.step for point in result.curve] == [0, 1, 3, 8]
    assert (result.words, result.share_of_paper) == (8 * 4 * 4, 8 * 4 * 4 / 1.6e8)
    language = SMALL.build()
    test = draw_test_set(language, 50, 4, 0)
    *_, last = train(TRANSFORMER, TRAINING, language)
    measured = evaluate(last.model, test)
    assert result.curve[-1].kl == measured.kl
    assert result.curve[-1].entropy == measured.entropy
    assert result.curve[0].training_loss is None
    assert result.parameters == sum(p.numel() for p in last.model.parameters())
    again, model = train_and_measure(PLAN)
    assert same(model.state_dict(), last.model.state_dict())
    assert numbers(again) == numbers(result)


def test_plans_and_results_survive_json():
    plan = Plan.from_json(VALUES)
    assert plan.training.betas == (0.5, 0.6)
    assert (plan.shape.words, plan.shape.positions) == (20, 8)
    grammar = Plan(language=MIXED, model="lstm-128x4", training=TRAINING)
    for each in (plan, grammar):
        assert Plan.from_json(json.loads(json.dumps(each.to_json()))) == each
    result = run(PLAN)
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_measurements_are_spread_out_and_at_what_is_asked():
    assert Plan.from_json({**VALUES, "evaluations": 2, "also_at": [5, 3]}).eval_steps == [
        0,
        1,
        3,
        5,
        8,
    ]
    longer = {**VALUES, "training": {"steps": 4000, "batch_size": 2}, "evaluations": 4}
    assert Plan.from_json(longer).eval_steps == [0, 40, 186, 862, 4000]


def test_a_run_that_was_interrupted_has_the_same_curve(tmp_path):
    plan = PLAN.model_copy(update={"evaluations": 4})
    expected = run(plan, checkpoint=tmp_path / "a")

    class Stopped(Exception):
        pass

    def stop(point):
        if point.step == 4:
            raise Stopped

    folder = tmp_path / "b"
    with pytest.raises(Stopped):
        run(plan, checkpoint=folder, report=stop)
    again = []
    result = run(plan, checkpoint=folder, report=again.append)
    assert numbers(result) == numbers(expected)
    assert [point.step for point in again] == [8]  # what was measured is not measured again
    assert torch.load(folder / "training.pt", weights_only=True)["step"] == 8
    # the training is the same, the sentences of the curve are others
    with pytest.raises(
        ValueError, match=r"curve\.json is the curve of another plan, or on other test "
    ):
        run(plan.model_copy(update={"sentences": plan.sentences + 1}), checkpoint=folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"language": "hmm4"}, r"`language`: there is no 'hmm4'\. Did you mean 'hmm-4'"),
        ({"language": {"family": "hmm", "states": 2, "words": 4}}, "`language.hmm.length` is miss"),
        ({"language": {"family": "opt"}}, "`language` .*'hmm', 'pcfg'.*got .*opt"),
        ({"model": "lstm-128x5"}, r"`model`: there is no 'lstm-128x5'\. Did you mean 'lstm-128x4'"),
        ({"model": {"kind": "lstm", "width": 7, "layers": 1}}, "`width` must be even for an LSTM"),
        ({"training": {"steps": 3}}, "`training.batch_size` is missing: give it a value"),
        ({"training": {"stepz": 3}}, "`training.stepz` is not a field"),
        ({"training": {"steps": 3, "batch_size": 0}}, "`batch_size` must be at least 1, got 0"),
        ({"training": {"steps": 3, "batch_size": "2"}}, "`training.batch_size` .*integer, got '2'"),
    ],
)
def test_every_field_of_a_plan_is_checked(change, message):
    with pytest.raises(ValueError, match=message):
        Plan.from_json({**VALUES, **change})


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="`device`: there is no 'tpu' here"):
        run(PLAN.model_copy(update={"device": "tpu"}))


def test_a_step_after_the_last_is_refused():
    with pytest.raises(ValueError, match=r"`eval_steps` must lie in 0 … 8.*got \[9\]"):
        run(PLAN.model_copy(update={"also_at": (9,)}))
