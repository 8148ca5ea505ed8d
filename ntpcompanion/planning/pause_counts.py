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
    """How many vectors each layer computes for a sequence, counted by hooks on the layers.

    Parameters
    ----------
    decoder
        any; it is not changed.
    tokens
        a sequence in each row.

    Returns
    -------
    tuple of int
        an entry for each layer that was called, in the order of the calls: the length is the depth
        of the computation. The symbol CLS before the sequence counts.

    Raises
    ------
    ValueError
        what is not a decoder, or no sequence for it.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.networks import ModelPlan
    >>> from ntpcompanion.planning import PauseDecoder, append_pauses
    >>> from ntpcompanion.planning.pause_counts import vectors_per_layer
    >>> plan = ModelPlan("transformer", 8, layers=2, inner=32, words=20, positions=6)
    >>> prefix, decoder = torch.tensor([[7, 5, 2]]), PauseDecoder(plan, seed=0)
    >>> [vectors_per_layer(decoder, append_pauses(prefix, M)) for M in (0, 3)]
    [(4, 4), (7, 7)]
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
