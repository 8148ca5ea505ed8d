"""Checks of what networks read: sentences as tokens, and the positions that are asked for; and of
the parameters of several networks.

They look at kinds, shapes and devices only, never at entries: a network is called at every step of
a training, and its tokens may stand for many under `torch.func.vmap`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ntpcompanion.validation import (
    argument_check,
    as_integer,
    check_named_tensors,
    check_tensor,
    described,
)

KINDS = (torch.int32, torch.int64)  # that an embedding looks up


def check_tokens(name: str, tokens: object) -> None:
    """ValueError unless the value is a matrix of integers of torch, a sentence in each row."""
    check_tensor(name, tokens)
    if not (isinstance(tokens, Tensor) and tokens.ndim == 2 and tokens.dtype in KINDS):
        raise ValueError(
            f"`{name}` must be a matrix of integers (int64 or int32), a sentence in each row, got "
            f"{described(tokens)}."
        )
    if tokens.layout != torch.strided:
        raise ValueError(f"`{name}` must be dense, got layout {tokens.layout}. Use .to_dense().")


def check_long(name: str, tokens: Any) -> None:
    """ValueError unless `check_tokens` passes and the integers are int64."""
    check_tokens(name, tokens)
    if tokens.dtype != torch.int64:
        raise ValueError(f"`{name}` must be of torch.int64, got {described(tokens)}. Use .long().")


@argument_check
def check_on_device(
    name: str, value: Tensor, other: Tensor, description: str = "the model"
) -> None:
    """ValueError unless a tensor is where another one is, a parameter of the model unless
    `description` says otherwise.
    """
    if value.device != other.device:
        raise ValueError(
            f"`{name}` must be on the device of {description}, {other.device}, got "
            f"{described(value)} on {value.device}. Use .to(...)."
        )


@argument_check
def check_embedded(name: str, rows: object, minimum: int) -> None:
    """ValueError unless so many rows of embeddings are enough."""
    as_integer(name, rows, minimum, reason="(words, mask and padding)")


def check_parameters(name: str, parameters: Any) -> None:
    """ValueError unless the value holds named tensors, with the bias of the words among them, whose
    first axis is one of networks.
    """
    check_named_tensors(name, parameters)
    models = {tuple(value.shape[:1]) for value in parameters.values()}
    if "bias" not in parameters or len(models) != 1 or () in models:
        shapes = {key: tuple(value.shape) for key, value in parameters.items()}
        raise ValueError(
            f"`{name}` must hold the parameters of networks, 'bias' among them, each with a first "
            f"axis of as many networks, got {shapes}."
        )


def check_stacked(name: str, parameters: Mapping[str, Tensor], network: nn.Module) -> None:
    """ValueError unless the parameters are those of networks of one shape, on one device."""
    check_parameters(name, parameters)
    wanted = {key: p.shape for key, p in network.named_parameters()}
    if wrong := sorted(wanted.keys() ^ parameters.keys()):
        raise ValueError(
            f"`{name}` must have the names of the parameters of `plan`, got "
            f"{described(parameters)} and {wrong[0]!r} in one of them only."
        )
    for key, shape in wanted.items():
        value = parameters[key]
        if value.shape[1:] != shape or not value.is_floating_point():
            raise ValueError(
                f"`{name}` must hold floating-point numbers of shape (networks, "
                f"{', '.join(map(str, shape))}) under {key!r}, as `plan` says, got "
                f"{described(parameters)} with {described(value)}."
            )
    _check_one_device(name, list(parameters.values()), described(parameters))


def _check_one_device(name: str, tensors: Sequence[Tensor], got: str) -> None:
    if len(devices := sorted({str(each.device) for each in tensors})) != 1:
        raise ValueError(f"`{name}` must be on one device, got {got} on {', '.join(devices)}.")


def check_stackable(name: str, models: Sequence[Any]) -> None:
    """ValueError unless the models are on one device, and none is causal."""
    _check_one_device(name, [model.bias for model in models], described(models))
    for number, model in enumerate(models):
        if getattr(model, "causal", False):
            raise ValueError(
                f"`{name}` must not be causal, as a stack computes attention to both sides, got "
                f"{described(models)} with a causal network at {number}."
            )


def check_asked(name: str, positions: Any, tokens: Tensor) -> None:
    """ValueError unless the value holds positions, a row for each sentence; None asks for all."""
    if positions is None:
        return
    check_tokens(name, positions)
    check_as_many(name, positions, "tokens", tokens)
    check_on_device(name, positions, tokens, "`tokens`")


@argument_check
def check_as_many(name: str, value: object, other: str, rows: Tensor) -> None:
    """ValueError unless the value has as many rows as another tensor, which is named."""
    if not isinstance(value, Tensor) or len(value) != len(rows):
        raise ValueError(
            f"`{name}` must have a row for each of the {len(rows)} rows of `{other}`, got "
            f"{described(value)}."
        )
