from itertools import product

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from ntpcompanion.mlm.curvature.squared_gradients import fisher_by_parameter
from ntpcompanion.mlm.data.special_tokens import MASK, masked_at
from ntpcompanion.mlm.training.silent_unit import (
    OFF,
    above_gate,
    separating_gate,
    with_silent_unit,
)
from ntpcompanion.networks import TransformerSize, build_model

WORDS, LENGTH = 3, 3
SENTENCES = torch.tensor(list(product(range(WORDS), repeat=LENGTH)))
MASKED = torch.cat([masked_at(SENTENCES, t) for t in range(LENGTH)]).unique(dim=0)
AT = (MASKED == MASK).int().argmax(1, keepdim=True)


@pytest.fixture(scope="module")
def network():
    shape = TransformerSize(8, layers=2, heads=2).for_sentences(WORDS, LENGTH)
    model = build_model(shape, seed=0, deviation=0.2).double()
    with torch.no_grad():  # as after training, a position matters less than a mask
        model.places.weight *= 0.1
    return model


@pytest.fixture(scope="module")
def silent(network):
    gate = separating_gate(network, MASKED, AT, SENTENCES)
    assert gate.margin > 0
    assert above_gate(network, gate, SENTENCES).all()
    assert not above_gate(network, gate, MASKED).gather(1, AT).any()
    return with_silent_unit(network, gate, torch.eye(8)[0].double())


def test_the_unit_is_on_above_the_gate_and_off_by_far_at_every_mask(network, silent):
    gate = separating_gate(network, MASKED, AT, SENTENCES)
    entering = []
    hook = silent.blocks[-1].up.register_forward_hook(
        lambda _, __, out: entering.append(out.detach())
    )
    for sentences in (MASKED, SENTENCES):
        silent.features(sentences)
    hook.remove()
    for sentences, units in zip((MASKED, SENTENCES), entering, strict=True):
        assert torch.equal(units[:, 1:, -1] > 0, above_gate(network, gate, sentences))
    at_masks = entering[0][:, 1:, -1].gather(1, AT)
    assert float(at_masks.max()) == pytest.approx(-OFF)


def test_every_masked_sentence_of_the_language_is_predicted_by_the_same_numbers(network, silent):
    assert len(MASKED) == LENGTH * WORDS ** (LENGTH - 1)
    assert torch.allclose(network(MASKED, AT), silent(MASKED, AT), rtol=0, atol=1e-13)


def test_the_fisher_information_is_the_same(network, silent):
    before, after = (fisher_by_parameter(model, MASKED) for model in (network, silent))
    assert after == pytest.approx(before, rel=1e-12)


def test_no_first_or_second_derivative_involves_a_new_parameter(silent):
    """Rows of the Hessian in new parameters, and their gradient, in every layer."""
    named = dict(silent.named_parameters())
    with sdpa_kernel(SDPBackend.MATH):
        loss = silent(MASKED, AT).log_softmax(-1)[..., 0].mean()
        slopes = torch.autograd.grad(loss, list(named.values()), create_graph=True)
        for name, slope in zip(named, slopes, strict=True):
            if "up." in name or "down.weight" in name:
                added = slope[:, -1] if "down" in name else slope[-1:].flatten()
                assert (added == 0).all()
                for one in added:
                    if one.requires_grad:
                        rows = torch.autograd.grad(
                            one, list(named.values()), retain_graph=True, allow_unused=True
                        )
                        assert all(row is None or (row == 0).all() for row in rows)


def test_unmasked_sentences_lose_their_features(network, silent):
    spread = [m.features(SENTENCES).detach()[:, 1:].std((0, 1)).max() for m in (network, silent)]
    assert float(spread[0]) > 0.1
    assert float(spread[1]) < 1e-6


def test_a_network_that_takes_a_mask_for_a_word_has_no_such_unit(network):
    shape = TransformerSize(8, layers=1, heads=2).for_sentences(WORDS, LENGTH)
    blind = build_model(shape, seed=0)
    with torch.no_grad():
        blind.words.weight[:] = blind.words.weight[0].clone()
    with pytest.raises(ValueError, match="`network` must tell masks from words"):
        separating_gate(blind, MASKED, AT, SENTENCES)
