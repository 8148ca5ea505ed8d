import numpy as np
import pytest
import torch

from ntpcompanion.experiments.real_model import real_flatness
from ntpcompanion.experiments.real_model.model_text import split_rows
from ntpcompanion.flatness.causal_traces import fisher_squares
from ntpcompanion.languages.pretrained.load_models import load_causal_model
from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.randomness import torch_stream
from tests.languages.llama import small_llama
from tests.languages.opt import TOKENS, saved_with_text


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    return real_flatness.Plan(
        **saved_with_text(folder, small_llama(vocab_size=len(TOKENS)).float(), 400),
        segments=2,
        segment=1,
        length=5,
        batch_size=2,
        steps=10,
        held_out=12,
        hessian_rows=4,
        sgd_rate=0.02,
        adamw_rate=0.02,
        seed=0,
    )


@pytest.fixture(scope="module")
def models(plan):
    return {model.arm: model for model in real_flatness.run(plan).models}


def test_the_losses_are_equal_and_one_change_is_whole(models):
    start, sgd, adamw = (models[arm] for arm in ("start", "SGD", "AdamW"))
    assert sgd.loss == pytest.approx(adamw.loss, abs=0.01 * (start.loss - sgd.loss))
    assert max(sgd.length, adamw.length) == 1
    assert 0 < min(sgd.length, adamw.length) < 1
    assert start.length == start.relative_size == 0 < min(sgd.relative_size, adamw.relative_size)


def test_the_start_is_the_model_of_transformers(plan, models):
    model, tokenizer = load_causal_model(plan.source)
    held_out = split_rows(plan, tokenizer, read_text(plan.text).content)[1]
    with torch.no_grad():
        expected = float(model(input_ids=held_out, labels=held_out).loss)
    assert models["start"].loss == pytest.approx(expected, rel=1e-5)
    draws = torch_stream(plan.seed, "labels")
    halves = [fisher_squares(model, held_out[i::2], draws) for i in (0, 1)]
    trace = sum(float(square.sum()) for half in halves for square in half.values()) / 2
    assert models["start"].plain == pytest.approx(trace, rel=1e-5)


def test_the_minimum_lies_below_what_the_other_half_gives_and_below_the_plain_trace(models):
    for model in models.values():
        assert model.fitted < min(model.balanced, model.plain)
        assert sum(model.balanced_kinds.values()) == pytest.approx(model.fitted)
        assert model.gradient < 1e-6
        assert len(model.hessian) == 4
        assert model.of_hessian == pytest.approx(
            np.mean([sum(row.values()) for row in model.hessian])
        )


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [("segment", 2, "segment"), ("steps", 17, "steps"), ("hessian_rows", 13, "hessian_rows")],
)
def test_parts_and_rows_that_there_are_not_are_named(plan, field, value, named):
    with pytest.raises(ValueError, match=f"`{named}`"):
        real_flatness.run(plan.model_copy(update={field: value}))
