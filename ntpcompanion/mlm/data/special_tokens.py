"""Tokens that are not words: the mask, and padding on the right."""

from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from ntpcompanion.checks import Range, checked
from ntpcompanion.languages.language import PADDING

# stands for the word to be predicted; beside PADDING = −1 it is the only token that is not a word
MASK = -2


def padded_to(
    tokens: Int[Tensor, "batch length"], positions: int
) -> Int[Tensor, "batch positions"]:
    """Sentences with PADDING on the right up to `positions` columns. Raises ValueError if one is
    longer.
    """
    excess = tokens.shape[1] - positions
    if excess > 0 and bool((tokens[:, positions:] != PADDING).any()):
        raise ValueError(
            f"`tokens` holds sentences of {tokens.shape[1]} words, the model has {positions} "
            "`positions`. Give it more."
        )
    return F.pad(tokens, (0, -excess), value=PADDING)


@checked
def masked_at(
    tokens: Int[Tensor, "batch length"],
    position: Annotated[int, Range(0, "length - 1", "(columns of `tokens`)")],
) -> Int[Tensor, "batch length"]:
    """The sentences with the word at column `position` = 0, 1, … hidden, so that no model can use
    it; those that have none there stay as they are. Raises ValueError for a position that is not a
    column.
    """
    column = torch.arange(tokens.shape[1], device=tokens.device) == position
    return torch.where(column & (tokens != PADDING), MASK, tokens)
