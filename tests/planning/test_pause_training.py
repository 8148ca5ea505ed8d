import pytest
import torch

from ntpcompanion.networks import ModelPlan
from ntpcompanion.planning.parity import WORDS, parity_questions
from ntpcompanion.planning.pause_training import train_with_pauses
from ntpcompanion.planning.pauses import PauseDecoder
from tests.threads import one_thread  # noqa: F401 (a fixture of all tests here)

QUESTIONS = parity_questions(2)


def decoder():
    plan = ModelPlan("transformer", 8, layers=2, inner=8, words=WORDS, positions=5)
    return PauseDecoder(plan, 0, deviation=0.3)


def trained(pauses, stops, rate=0.01):
    model = decoder()
    for _ in train_with_pauses(model, QUESTIONS, pauses, eval_steps=stops, learning_rate=rate):
        pass
    return model


def loss_of(model, pauses):
    with torch.no_grad():
        return QUESTIONS.loss(model.answer(QUESTIONS.prefixes, pauses)).item()


@pytest.mark.parametrize("pauses", [0, 2])
def test_two_bits_are_learned(pauses):
    assert loss_of(decoder(), pauses) > 0.9
    assert loss_of(trained(pauses, [250]), pauses) < 0.05


def test_stops_are_states_on_one_path():
    model, seen, at = decoder(), [], {}
    for step in train_with_pauses(model, QUESTIONS, 1, eval_steps=[6, 0, 3], learning_rate=0.01):
        seen.append(step)
        at[step] = loss_of(model, 1)
    assert seen == [0, 3, 6]
    assert at[0] == loss_of(decoder(), 1)
    assert at[3] == pytest.approx(loss_of(trained(1, [3]), 1), abs=1e-6)
    assert at[6] < at[3] < at[0]


def test_the_first_step_is_adams_at_a_fiftieth_of_the_rate():
    start, after = decoder(), trained(1, [1], rate=0.5)
    moved = (after.pause - start.pause).abs()
    assert torch.allclose(moved, torch.full_like(moved, 0.01), rtol=1e-3)


def test_without_pauses_their_row_stays():
    assert torch.equal(trained(0, [5]).pause, decoder().pause)
    assert not torch.equal(trained(1, [5]).pause, decoder().pause)


def test_a_loss_that_is_not_finite_ends_the_run():
    with pytest.raises(FloatingPointError, match=r"^`learning_rate` = 1e.38 is too large"):
        trained(1, [100], rate=1e38)
