import json

import pytest
import torch

from ntpcompanion.mlm import pretraining
from ntpcompanion.mlm.evaluate import draw_test_set, evaluate
from ntpcompanion.mlm.named_plans import LANGUAGE_PLANS, MODEL_PLANS
from ntpcompanion.mlm.plan import TrainingPlan
from ntpcompanion.mlm.pretraining import pretrain, training_plan
from ntpcompanion.mlm.train import train
from tests.mlm.cases import SMALL, TRANSFORMER

TRAINING = {"steps": 8, "batch": 4}


@pytest.fixture(autouse=True)
def small_plans(monkeypatch):
    monkeypatch.setitem(LANGUAGE_PLANS, "small", SMALL)
    monkeypatch.setitem(MODEL_PLANS, "tiny", TRANSFORMER)


def numbers(result):
    """A curve without the seconds."""
    return [
        {name: value for name, value in point.items() if name != "seconds"}
        for point in result["curve"]
    ]


def test_a_run_returns_its_curve_and_what_made_it():
    told = []
    result = pretrain("small", "tiny", TRAINING, evaluations=3, sentences=50, report=told.append)
    assert json.loads(json.dumps(result))["curve"] == result["curve"] == told
    assert [point["step"] for point in result["curve"]] == [0, 1, 3, 8]
    assert (result["words"], result["share_of_paper"]) == (8 * 4 * 4, 8 * 4 * 4 / 1.6e8)
    language = SMALL.build()
    test = draw_test_set(language, 50, 4, 0)
    *_, last = train(TRANSFORMER, TrainingPlan(**TRAINING), language)
    measured = evaluate(last.model, test)
    assert result["curve"][-1]["kl"] == measured.kl
    assert result["curve"][-1]["entropy"] == measured.entropy
    assert result["parameters"] == sum(p.numel() for p in last.model.parameters())
    assert result["training"]["betas"] == (0.9, 0.98)


def test_a_run_that_was_interrupted_has_the_same_curve(tmp_path):
    expected = pretrain(
        "small", "tiny", TRAINING, evaluations=4, sentences=50, checkpoint=tmp_path / "a"
    )

    class Stopped(Exception):
        pass

    def stop(point):
        if point["step"] == 4:
            raise Stopped

    folder = tmp_path / "b"
    with pytest.raises(Stopped):
        pretrain(
            "small", "tiny", TRAINING, evaluations=4, sentences=50, checkpoint=folder, report=stop
        )
    again = []
    result = pretrain(
        "small",
        "tiny",
        TRAINING,
        evaluations=4,
        sentences=50,
        checkpoint=folder,
        report=again.append,
    )
    assert numbers(result) == numbers(expected)
    assert [point["step"] for point in again] == [8]  # what was measured is not measured again
    assert torch.load(folder / "training.pt", weights_only=True)["step"] == 8


def test_names_and_fields_are_checked():
    with pytest.raises(ValueError, match=r"`language`: there is no 'smal'. Did you mean 'small'"):
        pretrain("smal", "tiny", TRAINING)
    with pytest.raises(ValueError, match=r"`training`: there is no 'stepz'. Did you mean 'steps'"):
        training_plan({"stepz": 3})
    with pytest.raises(ValueError, match="`training` must name batch"):
        training_plan({"steps": 3})
    assert training_plan({**TRAINING, "betas": [0.5, 0.6]}).betas == (0.5, 0.6)
    assert pretraining.training_plan(TRAINING) == TrainingPlan(steps=8, batch=4)
