"""Checks of what networks read: sentences as tokens, and the positions that are asked for.

They look at kinds and shapes only, never at entries: a network is called at every step of a
training, and its tokens may stand for many under `torch.func.vmap`.
"""

import torch

from ntpcompanion.validation import check_tensor, described

KINDS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def check_tokens(name: str, tokens: object) -> None:
    """ValueError unless the value is a matrix of integers of torch, a sentence in each row."""
    check_tensor(name, tokens)
    if not (isinstance(tokens, torch.Tensor) and tokens.ndim == 2 and tokens.dtype in KINDS):
        raise ValueError(
            f"`{name}` must be a matrix of integers, a sentence in each row, got "
            f"{described(tokens)}."
        )


def check_asked(name: str, at: object, tokens: torch.Tensor) -> None:
    """ValueError unless the value holds positions, a row for each sentence; None asks for all."""
    if at is None:
        return
    check_tokens(name, at)
    check_as_many(name, at, "tokens", tokens)


def check_as_many(name: str, value: object, other: str, rows: torch.Tensor) -> None:
    """ValueError unless the value has as many rows as another tensor, which is named."""
    if not isinstance(value, torch.Tensor) or len(value) != len(rows):
        raise ValueError(
            f"`{name}` must have a row for each of the {len(rows)} rows of `{other}`, got "
            f"{described(value)}."
        )
