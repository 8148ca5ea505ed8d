import pytest
import torch

from ntpcompanion.networks import ModelPlan
from ntpcompanion.planning.pause_counts import trained_rows, vectors_per_layer
from ntpcompanion.planning.pauses import PAUSE, PauseDecoder, append_pauses
from tests.threads import one_thread  # noqa: F401 (a fixture of all tests here)


def decoder(layers=3):
    plan = ModelPlan("transformer", 8, layers=layers, heads=2, inner=12, words=6, positions=9)
    return PauseDecoder(plan, 0, deviation=0.5).double()


PREFIX = torch.tensor([[0, 5, 1], [3, 3, 2]])


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("pauses", [0, 1, 6])
def test_a_layer_computes_a_vector_for_each_pause(layers, pauses):
    assert vectors_per_layer(decoder(layers), append_pauses(PREFIX, pauses)) == (
        (1 + 3 + pauses,) * layers
    )


def test_hooks_are_gone_after_the_count_and_after_an_error():
    model = decoder()
    vectors_per_layer(model, PREFIX)
    with pytest.raises(ValueError, match=r"^`tokens` must have at most 9 columns"):
        vectors_per_layer(model, append_pauses(PREFIX, 7))
    assert not any(block._forward_hooks for block in model.model.blocks)


@pytest.mark.parametrize("pauses", [1, 2, 5])
def test_pauses_train_one_row_of_tokens_and_one_position_each(pauses):
    model = decoder()
    alone = trained_rows(model, torch.tensor([[0, 5, 1, 4]]))
    tokens = torch.cat([append_pauses(PREFIX[:1], pauses), torch.tensor([[4]])], 1)
    paused = trained_rows(model, tokens)
    assert alone.tokens == 7  # all words have a logit; CLS is read
    # the last token of a sequence has no target after it, so it and its position are not read
    assert (paused.tokens - alone.tokens, paused.positions - alone.positions) == (1, pauses)
    assert alone.positions == 4
    assert model.pause.grad is None, "the decoder is not changed"
    assert (tokens == PAUSE).sum() == pauses
