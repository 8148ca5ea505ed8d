import math
from collections import Counter

import pytest
import torch

from ntpcompanion.networks import ModelPlan
from ntpcompanion.planning.pause_loss import insert_pauses, pause_masked_loss
from ntpcompanion.planning.pauses import PAUSE, PauseDecoder
from tests.threads import one_thread  # noqa: F401 (a fixture of all tests here)

TOKENS = torch.tensor([[0, PAUSE, 5, 1, PAUSE], [PAUSE, PAUSE, 3, 2, 4]])


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def looped(logits, tokens):
    """The loss and its gradient in the logits, word by word."""
    total, count, gradient = 0.0, 0, torch.zeros_like(logits)
    for row, sequence in enumerate(tokens.tolist()):
        for t, target in enumerate(sequence[1:]):
            if target == PAUSE:
                continue
            scores = [math.exp(x) for x in logits[row, t].tolist()]
            total -= math.log(scores[target] / sum(scores))
            for word, score in enumerate(scores):
                gradient[row, t, word] = score / sum(scores) - (word == target)
            count += 1
    return total / count, gradient / count


def test_the_loss_is_the_mean_over_targets_that_are_words():
    logits = torch.randn(2, 5, 6, generator=generator(), dtype=torch.float64, requires_grad=True)
    loss = pause_masked_loss(logits, TOKENS)
    loss.backward()
    expected, gradient = looped(logits.detach(), TOKENS)
    assert loss.item() == pytest.approx(expected, abs=1e-12)
    assert torch.allclose(logits.grad, gradient, rtol=0, atol=1e-12)


def test_a_logit_before_a_pause_moves_no_gradient():
    plan = ModelPlan("transformer", 8, layers=2, heads=2, inner=12, words=6, positions=5)
    decoder = PauseDecoder(plan, 0, deviation=0.5).double()
    before_pause = torch.zeros(2, 5, 1, dtype=torch.bool)
    before_pause[:, :-1, 0] = TOKENS[:, 1:] == PAUSE
    noise = torch.randn(2, 5, 6, generator=generator(), dtype=torch.float64)
    gradients = []
    for moved in (0.0, 50.0):
        decoder.zero_grad()
        logits = decoder(TOKENS)
        logits.retain_grad()
        pause_masked_loss(logits + moved * before_pause * noise, TOKENS).backward()
        assert (logits.grad[before_pause.expand_as(logits)] == 0).all()
        gradients.append([p.grad.clone() for p in decoder.parameters()])
    for still, after in zip(*gradients, strict=True):
        assert torch.allclose(still, after, rtol=0, atol=1e-12)
    assert decoder.pause.grad.abs().max() > 1e-3, "a pause is learned from the words after it"


def test_pauses_only_are_refused():
    tokens = torch.tensor([[3, PAUSE], [PAUSE, PAUSE]])
    with pytest.raises(ValueError, match=r"^`tokens` must hold a word after a first"):
        pause_masked_loss(torch.zeros(2, 2, 6), tokens)


def test_all_sets_of_positions_are_equally_likely():
    draws = 3000
    words = torch.tensor([[4, 2, 2, 0]]).expand(draws, -1)
    paused = insert_pauses(words, 2, generator())
    assert torch.equal(paused[paused != PAUSE].view(draws, 4), words)
    found = Counter(tuple(row) for row in (paused == PAUSE).tolist())
    assert len(found) == math.comb(6, 2)
    deviation = math.sqrt(draws * (1 / 15) * (14 / 15))
    assert max(abs(n - draws / 15) for n in found.values()) < 4 * deviation


def test_no_pause_is_no_change():
    words = torch.tensor([[4, 2, 2, 0]])
    assert torch.equal(insert_pauses(words, 0, generator()), words)
