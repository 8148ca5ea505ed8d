from dataclasses import replace
from itertools import pairwise

import pytest
import torch

from ntpcompanion.networks import ModelPlan, build_model, parameters_of
from ntpcompanion.planning.pauses import PAUSE, PauseDecoder, append_pauses
from tests.threads import one_thread  # noqa: F401 (a fixture of all tests here)

PLAN = ModelPlan("transformer", 8, layers=2, heads=2, inner=12, words=6, positions=7)
PREFIX = torch.tensor([[0, 5, 1], [3, 3, 2]])
MASK = -2  # a token of every transformer that no test here uses for itself


def double(plan=PLAN, seed=0):
    """A decoder in float64 with larger parameters than a new one has."""
    return PauseDecoder(plan, seed, deviation=0.5).double()


def with_pause_as_mask(decoder, length):
    """The plain transformer of sequences of one length whose mask looks like a pause."""
    plain = build_model(replace(decoder.model.plan, positions=length), 0, causal=True).double()
    numbers = dict(decoder.model.state_dict())
    numbers["places.weight"] = numbers["places.weight"][: length + 1]
    numbers["words.weight"] = numbers["words.weight"].clone()
    numbers["words.weight"][0] = decoder.pause.detach()
    plain.load_state_dict(numbers)
    return plain


@pytest.mark.parametrize("width", [4, 8, 20])
def test_a_pause_is_one_row(width):
    plan = replace(PLAN, width=width)
    model = build_model(plan, 3, causal=True)
    decoder = PauseDecoder(plan, 3)
    assert parameters_of(decoder) - parameters_of(model) == width
    for name, parameter in model.state_dict().items():
        assert torch.equal(decoder.model.state_dict()[name], parameter)


@pytest.mark.parametrize(
    "tokens",
    [
        [[0, 5, 1], [3, 3, 2]],
        [[0, 5, 1, PAUSE, PAUSE], [3, 3, 2, PAUSE, PAUSE]],
        [[PAUSE, 0, PAUSE, 5, 1, PAUSE, 2], [4, PAUSE, PAUSE, 3, PAUSE, 3, 2]],
    ],
)
def test_pauses_are_read_as_a_word_that_is_never_said(tokens):
    decoder, tokens = double(), torch.tensor(tokens)
    plain = with_pause_as_mask(decoder, tokens.shape[1])
    masked = torch.where(tokens == PAUSE, MASK, tokens)
    assert torch.allclose(decoder.features(tokens), plain.features(masked), rtol=0, atol=1e-12)
    everywhere = torch.arange(tokens.shape[1]).expand_as(tokens)
    expected = plain(masked, everywhere)
    assert torch.allclose(decoder(tokens), expected, rtol=0, atol=1e-12)
    at = torch.tensor([[2], [1]])
    assert torch.allclose(
        decoder(tokens, at), expected.gather(1, at[..., None].expand(-1, -1, 6)), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("pauses", [1, 4])
def test_pauses_at_the_end_change_nothing_before_them(pauses):
    decoder = double()
    alone = decoder.features(PREFIX)
    paused = decoder.features(append_pauses(PREFIX, pauses))
    assert paused.shape[1] == alone.shape[1] + pauses
    assert torch.allclose(paused[:, : alone.shape[1]], alone, rtol=0, atol=1e-12)


def test_an_answer_is_read_from_the_last_pause():
    decoder = double()
    answers = [decoder.answer(PREFIX, pauses) for pauses in range(5)]
    for pauses, answer in enumerate(answers):
        expected = decoder(append_pauses(PREFIX, pauses))[:, -1]
        assert torch.allclose(answer, expected, rtol=0, atol=1e-12)
    assert min((a - b).abs().max() for a, b in pairwise(answers)) > 1e-3


def test_the_seed_decides_the_pause():
    first, again, other = (PauseDecoder(PLAN, seed).pause for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    ten = PauseDecoder(PLAN, 0, deviation=0.2).pause
    assert torch.allclose(ten, 10 * first, rtol=1e-6)
