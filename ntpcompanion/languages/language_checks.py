"""What tables and tokens that a user hands to a language must be."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.languages.language import PADDING
from ntpcompanion.validation import (
    as_shaped,
    check_not_negative,
    check_probabilities,
    check_sums,
    check_tensor,
    described,
    require,
)


def checked_distributions(
    name: str, table: Tensor | np.ndarray | Sequence[Any], shape: tuple[int | None, ...]
) -> Tensor:
    """A float64 copy of a table of distributions, one a row, from a tensor, an array, lists or a
    data frame. A `None` in `shape` allows any positive size.

    Raises ValueError unless it has the shape, is finite, is not negative, and each distribution
    sums to 1 within SUM_TOLERANCE.
    """
    entries = as_shaped(name, table, shape)
    check_probabilities(name, entries, entries.sum(-1))
    return float64_copy(table, entries)


def checked_entries(
    name: str, table: Tensor | np.ndarray | Sequence[Any], shape: tuple[int | None, ...]
) -> Tensor:
    """As `checked_distributions`, but for the sums."""
    entries = as_shaped(name, table, shape)
    check_not_negative(name, entries)
    return float64_copy(table, entries)


def float64_copy(table: object, entries: Float[np.ndarray, "..."]) -> Tensor:
    """The entries of a table as a tensor of its own, where the table is."""
    device = table.device if isinstance(table, Tensor) else None
    return torch.tensor(entries, dtype=torch.float64, device=device)


def check_normalized(name: str, sums: Tensor) -> None:
    """Raise ValueError naming the row whose sum misses 1 most, if by more than SUM_TOLERANCE."""
    check_sums(name, sums.detach().cpu().numpy())


def checked_tokens(tokens: Tensor, vocab_size: int) -> tuple[Tensor, Tensor]:
    """Tokens as int64 and the lengths of the sentences, (batch,).

    Raises ValueError unless tokens are integers (batch, length) in 0 … vocab_size − 1, with PADDING
    on the right only and a word in each row.
    """
    check_tensor("tokens", tokens)
    whole = not (tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool)
    require(
        whole and tokens.ndim == 2,
        f"`tokens` must be integers of shape (batch, length), got {described(tokens)}.",
    )
    tokens, present = tokens.long(), tokens != PADDING
    if not len(tokens):
        return tokens, present.sum(1)
    require(tokens.shape[1], f"`tokens` has {len(tokens)} sentences of no word.")
    got = f"{int(tokens.min())} … {int(tokens.max())}"
    require(
        tokens.min() >= PADDING and tokens.max() < vocab_size,
        f"`tokens` must lie in 0 … {vocab_size - 1}, or be {PADDING} for padding, got {got}.",
    )
    misplaced = ~present[:, 0] | (~present[:, :-1] & present[:, 1:]).any(1)
    row = int(misplaced.int().argmax())
    require(
        not misplaced.any(),
        f"`tokens`: row {row} is {tokens[row].tolist()}. Padding may only follow words.",
    )
    return tokens, present.sum(1)


def check_possible(tokens: Tensor, possible: Tensor) -> None:
    """Raise ValueError naming the first sentence of probability 0, for which no conditional is
    defined.
    """
    for row in (~possible).nonzero()[:1, 0].tolist():
        words = tokens[row][tokens[row] != PADDING].tolist()
        raise ValueError(f"`tokens`: row {row}, {words}, has probability 0 in this language.")
