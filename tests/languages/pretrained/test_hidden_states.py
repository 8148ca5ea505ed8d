import functools

import numpy as np
import pytest
import torch

from ntpcompanion.languages.pretrained.hidden_states import hidden_states
from tests.languages.opt import TOKENS, probability, small_gpt2, small_opt
from tests.threads import one_thread  # noqa: F401 (a fixture of all tests here)

opt = functools.cache(small_opt)
CONTEXTS = np.array([[3, 5, 4], [7, 7, 7], [9, 0, 4], [11, 6, 5]])
EVERY = tuple(range(len(TOKENS)))


def test_the_next_token_is_that_of_full_passes_over_strings():
    log_p = hidden_states(opt(), CONTEXTS, 2, (2,)).log_p
    for context, row in zip(CONTEXTS.tolist(), log_p, strict=True):
        start = probability(opt(), context, EVERY, 2, 3)
        longer = [probability(opt(), (*context, v), EVERY, 2, 4) for v in EVERY]
        assert np.exp(row) == pytest.approx(np.array(longer) / start, rel=1e-9)


def test_the_output_matrix_reads_the_states_of_the_last_layer():
    read = hidden_states(opt(), CONTEXTS, 2, (2, 0))
    logits = torch.from_numpy(read.states[0]) @ opt().get_output_embeddings().weight.T
    assert np.allclose(logits.log_softmax(-1).detach().numpy(), read.log_p, atol=1e-12)


def test_layer_0_sees_the_last_token_and_its_place_only():
    model = small_gpt2()
    contexts = CONTEXTS % 11
    (first,) = hidden_states(model, contexts, 2, (0,)).states
    weights = dict(model.named_parameters())
    words = weights["transformer.wte.weight"][contexts[:, -1]]
    assert np.allclose(first, (words + weights["transformer.wpe.weight"][3]).detach().numpy())
    states = hidden_states(opt(), CONTEXTS, 2, (0, 1)).states
    same_last = states[:, 0] == states[:, 2]  # contexts that end with one token
    assert same_last[0].all()
    assert not same_last[1].any()


def test_chunks_and_the_order_of_layers_change_nothing():
    whole = hidden_states(opt(), CONTEXTS, 2, (0, 1, 2))
    parts = hidden_states(opt(), CONTEXTS, 2, (2, 1, 0), chunk=3)
    assert np.allclose(whole.states, parts.states[::-1], atol=1e-13)
    assert np.allclose(whole.log_p, parts.log_p, atol=1e-13)
    assert whole.states.dtype == whole.log_p.dtype == np.float64


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bos": 12}, r"`bos` must lie in 0 … 11 \(tokens of the model\), got 12"),
        ({"bos": -1}, "`bos` must be at least 0, got -1"),
        ({"layers": (3,)}, r"`layers` must lie in 0 … 2 \(layers of the model\), got 3"),
        ({"layers": (-1,)}, r"`layers` must lie in 0 … 2 \(layers of the model\), got -1"),
        ({"contexts": np.array([[3, 12]])}, r"`contexts` must lie in 0 … 11, got"),
        ({"contexts": np.zeros((2, 6), dtype=int)}, "have 7 tokens with `bos`, .* for 6"),
        ({"contexts": np.zeros((2, 3))}, "`contexts`"),
        ({"chunk": 0}, "`chunk` must be at least 1, got 0"),
        ({"model": torch.nn.Linear(2, 2)}, "`model` must be a causal language model"),
        ({"model": small_opt().train()}, r"`model` is in training mode. Call model.eval\(\)"),
    ],
)
def test_wrong_arguments_are_named(change, words):
    right = {"model": opt(), "contexts": CONTEXTS, "bos": 2, "layers": (1,)}
    with pytest.raises(ValueError, match=words):
        hidden_states(**right | change)
