"""What pauses add to a decoder, counted while it computes."""

from typing import Annotated

import torch
from jaxtyping import Int
from torch import Tensor

from ntpcompanion.checks import Range, checked
from ntpcompanion.planning.pauses import PAUSE, PauseDecoder

WORDS = Range(PAUSE, "decoder.model.plan.words - 1")


@checked
def vectors_per_layer(
    decoder: PauseDecoder, tokens: Annotated[Int[Tensor, "batch length"], WORDS]
) -> tuple[int, ...]:
    """How many vectors each layer computes for a sequence, CLS included, in the order of calls,
    counted by hooks. Raises ValueError for what is not a decoder, or no sequence for it.
    """
    calls: list[int] = []
    hooks = [
        block.register_forward_hook(lambda _block, _inputs, vectors: calls.append(vectors.shape[1]))
        for block in decoder.model.blocks
    ]
    try:
        with torch.no_grad():
            decoder(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return tuple(calls)
