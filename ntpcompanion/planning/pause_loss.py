"""Training on text with pauses: where they are put, and which predictions count."""

from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, Int64
from torch import Tensor

from ntpcompanion.checks import Count, Range, checked, need
from ntpcompanion.planning.pauses import PAUSE


@checked
def insert_pauses(
    tokens: Int64[Tensor, "batch length"], pauses: Count, generator: torch.Generator
) -> Int[Tensor, "batch longer"]:
    """Sequences with pauses at random positions, as in pre-training with pauses.

    Parameters
    ----------
    tokens
        a sequence in each row.
    pauses
        how many are put into each; the paper's pre-training makes them a tenth of the result.
    generator
        of the positions, on the device of `tokens`. All sets of positions are equally likely,
        drawn for each row.

    Returns
    -------
    Tensor
        (batch, length + pauses); without its pauses each row is what it was.

    Raises
    ------
    ValueError
        a number of pauses that is not an integer or negative; not a generator of torch; tokens that
        are not a matrix of int64.
    RuntimeError
        from torch: a generator on another device.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.planning import insert_pauses
    >>> tokens = torch.tensor([[7, 5, 2, 4]])
    >>> paused = insert_pauses(tokens, 2, torch.Generator().manual_seed(0))
    >>> paused.shape, paused[paused >= 0]
    (torch.Size([1, 6]), tensor([7, 5, 2, 4]))
    """
    batch, length = tokens.shape
    longer = length + pauses
    noise = torch.rand((batch, longer), generator=generator, device=tokens.device)
    positions = noise.argsort(dim=1)[:, :length].sort(dim=1).values  # where the words go
    return torch.full((batch, longer), PAUSE, device=tokens.device).scatter(1, positions, tokens)


@checked(need("tokens", "(tokens[:, 1:] != PAUSE).any()", "hold a word after a first one"))
def pause_masked_loss(
    logits: Float[Tensor, "batch length words"],
    tokens: Annotated[
        Int64[Tensor, "batch length"],
        Range(PAUSE, "logits.shape[2] - 1", reason="(words of the logits, or pauses)"),
    ],
) -> Float[Tensor, ""]:
    """The next-token loss of sequences with pauses, whose pauses are never to be predicted.

    Parameters
    ----------
    logits
        of the word after each token.
    tokens
        words, and `PAUSE` between them. The target at position t is the token t + 1.

    Returns
    -------
    Tensor
        the mean cross-entropy in nats over the targets that are words.

    Raises
    ------
    ValueError
        sequences without a word after their first token: there is nothing to predict; tokens that
        are not words of the logits, or of another shape.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.planning import append_pauses, pause_masked_loss
    >>> tokens = append_pauses(torch.tensor([[7, 5]]), 2)
    >>> pause_masked_loss(torch.zeros(1, 4, 20), tokens)  # one target, log 20 nats
    tensor(2.9957)
    """
    targets = tokens[:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=PAUSE)
