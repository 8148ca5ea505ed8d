"""What pauses add to a decoder, counted while it computes."""

from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Int, Int64
from torch import Tensor

from ntpcompanion.checks import Range, checked
from ntpcompanion.planning.pause_loss import pause_masked_loss
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


@dataclass(frozen=True)
class TrainedRows:
    """How many rows of the tables of embeddings one step of training moves.

    Fields
    ------
    tokens
        rows of words, of CLS, and of <pause>.
    positions
        rows of the table of positions.
    """

    tokens: int
    positions: int


@checked
def trained_rows(
    decoder: PauseDecoder, tokens: Annotated[Int64[Tensor, "batch length"], WORDS]
) -> TrainedRows:
    """Which embeddings get a gradient from the loss of some sequences: how many of each table.

    Parameters
    ----------
    decoder
        any; it is not changed.
    tokens
        words and pauses, as for `pause_masked_loss`.

    Returns
    -------
    TrainedRows
        counts of rows whose gradient has an entry other than 0.

    Raises
    ------
    ValueError
        what is not a decoder; as `pause_masked_loss`.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.networks import ModelPlan
    >>> from ntpcompanion.planning import PauseDecoder
    >>> from ntpcompanion.planning.pause_counts import trained_rows
    >>> plan = ModelPlan("transformer", 8, layers=1, inner=32, words=20, positions=6)
    >>> decoder = PauseDecoder(plan, seed=0)
    >>> trained_rows(decoder, torch.tensor([[7, -3, -3, 5]]))  # 20 words, CLS, <pause>
    TrainedRows(tokens=22, positions=4)
    """
    tables = [decoder.model.words.weight, decoder.pause[None], decoder.model.places.weight]
    sources = [tables[0], decoder.pause, tables[2]]
    loss = pause_masked_loss(decoder(tokens), tokens)
    moved = [
        int((gradient.reshape(table.shape) != 0).any(dim=1).sum())
        for gradient, table in zip(torch.autograd.grad(loss, sources), tables, strict=True)
    ]
    return TrainedRows(moved[0] + moved[1], moved[2])
