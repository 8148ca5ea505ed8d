import pytest
import torch

from ntpcompanion.networks import ModelPlan
from ntpcompanion.planning.pause_counts import vectors_per_layer
from ntpcompanion.planning.pauses import PauseDecoder, append_pauses
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
