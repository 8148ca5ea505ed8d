from dataclasses import replace

import pytest
import torch

from ntpcompanion.mlm.continued import digest, train_on
from ntpcompanion.mlm.model import build_model
from ntpcompanion.mlm.train import masked_loss, train
from tests.mlm.cases import LSTM, SHORT, SMALL, TRANSFORMER, same
from tests.mlm.test_train import training_batch


def final(*arguments, **options):
    *_, last = train_on(*arguments, **options)
    return last


@pytest.mark.parametrize("model_plan", [TRANSFORMER, LSTM])
def test_without_start_and_term_the_steps_are_those_of_training(model_plan):
    language = SMALL.build()
    *_, normal = train(model_plan, SHORT, language)
    found = final(model_plan, SHORT, language)
    assert same(found.model.state_dict(), normal.model.state_dict())
    assert found.loss == pytest.approx(normal.loss, rel=1e-6)
    assert found.term == 0


def squares(model, step):
    return (step + 1) * sum(p.square().sum() for p in model.parameters())


def test_a_step_descends_the_weighted_sum_from_the_given_start():
    language, plan = SMALL.build(), replace(SHORT, steps=1, optimizer="sgd", warmup=0.0)
    model = build_model(TRANSFORMER, 9)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    loss = masked_loss(model, training_batch(plan, language, 4, 0, 0))
    (loss + 0.25 * squares(model, 0)).backward()
    found = final(TRANSFORMER, plan, language, start=start, term=squares, weight=0.25)
    for ours, p in zip(found.model.parameters(), model.parameters(), strict=True):
        assert torch.allclose(ours, p - plan.rate * p.grad, rtol=0, atol=1e-7)
    assert found.loss == pytest.approx(float(loss.detach()), rel=1e-6)
    assert found.term == pytest.approx(float(squares(model, 0).detach()), rel=1e-5)


def test_a_killed_run_goes_on_and_one_of_another_term_is_refused(tmp_path):
    language, file = SMALL.build(), tmp_path / "run.pt"
    options = {"term": squares, "weight": 1e-3, "term_identity": "squares"}
    whole = final(TRANSFORMER, SHORT, language, **options)
    states = train_on(
        TRANSFORMER, SHORT, language, checkpoint=file, save_every=2, stops=[5], **options
    )
    assert next(states).step == 5
    states.close()  # killed at step 5: saved at 4
    resumed = final(TRANSFORMER, SHORT, language, checkpoint=file, **options)
    assert same(resumed.model.state_dict(), whole.model.state_dict())
    assert (resumed.loss, resumed.term) == pytest.approx((whole.loss, whole.term), rel=1e-6)
    for other in (
        {"weight": 2e-3},
        {"term_identity": "cubes"},
        {"start": build_model(TRANSFORMER, 1).state_dict()},
    ):
        with pytest.raises(ValueError, match="checkpoint of another plan or language"):
            final(TRANSFORMER, SHORT, language, checkpoint=file, **{**options, **other})


def test_what_does_not_fit_or_diverges_is_refused():
    language = SMALL.build()
    with pytest.raises(
        ValueError, match=r"`start` does not fit `model_plan`: .*size mismatch|Missing key"
    ):
        final(TRANSFORMER, SHORT, language, start=build_model(LSTM, 0).state_dict())
    with pytest.raises(
        FloatingPointError,
        match=r"The training loss is .* and the second term .* Lower `rate`, or `weight`",
    ):
        final(
            TRANSFORMER,
            replace(SHORT, rate=1e30, optimizer="sgd"),
            language,
            term=squares,
            weight=1.0,
        )


def test_a_digest_depends_on_every_entry():
    first, second = torch.zeros(3), torch.zeros(3)
    second[2] = 1e-30
    assert digest(first) == digest(first.clone()) != digest(second)
    assert digest(first, second) != digest(second, first)
