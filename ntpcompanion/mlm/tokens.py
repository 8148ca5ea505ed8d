"""Tokens that are no words: the mask, and padding on the right."""

import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from ntpcompanion.languages.language import PADDING

# stands for the word to be predicted; beside PADDING = −1 it is the only token that is no word
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
