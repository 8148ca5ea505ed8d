from pathlib import Path

import pytest
import torch

from ntpcompanion.experiments.adaptation import pruned_finetuning
from ntpcompanion.experiments.adaptation.pruned_finetuning import split_rows
from ntpcompanion.languages.pretrained.load_models import load_causal_model
from tests.languages.opt import saved_with_text, small_opt


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    return pruned_finetuning.Plan(
        **saved_with_text(folder, small_opt(), 400),
        segments=2,
        segment=1,
        length=5,
        batch_size=2,
        steps=15,
        held_out=6,
        calibration=4,
        tuning=pruned_finetuning.Tuning(learning_rate=0.02),
        dropped=(0.5, 0.9),
        masks=2,
        seed=0,
    )


@pytest.fixture(scope="module")
def result(plan):
    return pruned_finetuning.run(plan)


def test_training_and_held_out_rows_are_apart(plan):
    class Numbers:
        """A tokenizer whose tokens are positions."""

        def __call__(self, content, **_):
            return {"input_ids": list(range(len(content)))}

    training, held_out = split_rows(plan, Numbers(), "x" * 402)
    assert training.flatten().tolist() == list(range(201, 201 + 33 * 5))
    assert held_out.flatten().tolist() == list(range(201 + 34 * 5, 201 + 40 * 5))


def test_every_method_is_measured_at_every_p(plan, result):
    seen = [(row.method, row.p, row.mask) for row in result.pruned]
    assert len(seen) == len(set(seen)) == 2 * (2 * 2 + 2)
    assert {p for _, p, _ in seen} == set(plan.dropped)


def test_the_loss_before_is_that_of_transformers(plan, result):
    model, tokenizer = load_causal_model(plan.source)
    text = Path(plan.text).read_text(encoding="utf-8")
    held_out = split_rows(plan, tokenizer, text)[1]
    with torch.no_grad():
        expected = float(model(input_ids=held_out, labels=held_out).loss)
    assert result.loss_before == pytest.approx(expected, rel=1e-6)


def test_equal_plans_give_equal_results(plan, result):
    assert pruned_finetuning.run(plan) == result


@pytest.mark.parametrize(("field", "value"), [("segment", 2), ("steps", 17), ("calibration", 40)])
def test_parts_and_rows_that_there_are_not_are_named(plan, field, value):
    with pytest.raises(ValueError, match=f"`{'segment' if field == 'segment' else 'steps'}`"):
        pruned_finetuning.run(plan.model_copy(update={field: value}))
