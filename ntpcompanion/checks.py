"""Checks of seeds, devices, sequences, rows and tensors, beside those of
`ntpcompanion.validation`: the same mistake gets the same sentence in every room.

They change nothing, draw nothing, and return nothing. torch is imported where it is needed only.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ntpcompanion.argument_check import argument_check
from ntpcompanion.validation import (
    as_integer,
    as_integer_array,
    as_positive,
    check_instance,
    described,
    is_tensor,
)

if TYPE_CHECKING:
    import torch

LAST_SEED = 2**64 - 1  # of a generator of torch


@argument_check
def check_seed(seed: object) -> None:
    """ValueError unless a generator of torch takes the seed: a non-negative integer of Python."""
    _check_seed("seed", seed)


@argument_check
def _check_seed(name: str, seed: object) -> None:
    number = as_integer(name, seed, 0)
    if number > LAST_SEED:
        raise ValueError(f"`{name}` must lie in 0 … 2^64 − 1, got {described(seed)}.")
    if not isinstance(seed, int):
        raise ValueError(
            f"`{name}` must be an integer of Python, got {number} as a {type(seed).__name__}. Use "
            f"int({number})."
        )


@argument_check
def check_size(name: str, value: object) -> None:
    """ValueError unless the value is an integer of at least 1."""
    as_integer(name, value, 1)


@argument_check
def check_positive(name: str, value: object) -> None:
    """ValueError unless the value is a positive, finite number."""
    as_positive(name, value)


def check_seeds(seeds: object) -> None:
    """ValueError unless the seeds are a list of what `check_seed` takes. Arrays are rejected: their
    entries are not integers of Python.
    """
    if hasattr(seeds, "__array__"):
        raise ValueError(
            f"`seeds` must be a list of integers, got {described(seeds)}. Use .tolist()."
        )
    for seed in _sequence("seeds", seeds, "integers"):
        _check_seed("seeds", seed)


def check_all(name: str, values: object, kind: type) -> None:
    """ValueError unless the value is a sequence of at least one instance of a class."""
    entries = _sequence(name, values, kind.__name__)
    if not len(entries):
        raise ValueError(f"`{name}` must hold at least one {kind.__name__}, got an empty list.")
    for value in entries:
        if not isinstance(value, kind):
            raise ValueError(
                f"`{name}` must hold instances of {kind.__name__} only, got {described(value)}."
            )


@argument_check
def check_row(name: str, row: object, count: int) -> None:
    """ValueError unless the value is an integer in 0 … `count` − 1; not an array of one."""
    if getattr(row, "ndim", 0):
        raise ValueError(f"`{name}` must be an integer, got {described(row)}.")
    as_integer(name, row, 0, count - 1)


def check_rows(name: str, rows: object, count: int, minimum: int = 0) -> None:
    """ValueError unless the value is a list of at least `minimum` integers in 0 … `count` − 1."""
    index = as_integer_array(name, rows)
    if index.ndim != 1:
        raise ValueError(f"`{name}` must be a list of integers, got {described(rows)}.")
    if len(index) < minimum:
        raise ValueError(f"`{name}` must hold at least {minimum} integer, got {described(rows)}.")
    if index.size and not 0 <= index.min() <= index.max() < count:
        wrong = index[(index < 0) | (index >= count)][0]
        raise ValueError(f"`{name}` must lie in 0 … {count - 1}, got {wrong}.")


@argument_check
def check_module(name: str, value: object, kind: type) -> None:
    """ValueError unless the value is of a class of modules, or what torch.compile makes of one."""
    check_instance(name, getattr(value, "_orig_mod", value), kind)


def check_reachable(name: str, device: Any) -> None:
    """ValueError unless tensors can be made on the device: torch knows it and this machine has it.
    None is rejected.
    """
    import torch

    try:
        torch.empty(0, device=torch.device(device))
    except (RuntimeError, TypeError, ValueError, AssertionError) as error:
        known = not isinstance(error, TypeError)
        reason = str(error).partition("\n")[0].rstrip(".:") if known else "torch knows none such"
        shown = str(device) if isinstance(device, torch.device) else device
        raise ValueError(
            f"`{name}` must be a device of torch that this machine has, such as 'cpu' or 'cuda', "
            f"got {described(shown)}: {reason}."
        ) from error


@argument_check
def check_range(name: str, value: "torch.Tensor", minimum: float, maximum: float) -> None:
    """ValueError unless all entries lie between two numbers, or equal one of them. Entries that
    cannot be looked at pass: there are none, or they stand for many under `torch.func.vmap`.
    """
    try:
        low, high = value.min().item(), value.max().item()
    except RuntimeError:
        return
    if not (minimum <= low and high <= maximum):
        raise ValueError(
            f"`{name}` must lie in {minimum:g} … {maximum:g}, got {described(value)} from {low:g} "
            f"to {high:g}."
        )


def check_named_tensors(name: str, value: object) -> None:
    """ValueError unless the value maps names to tensors."""
    if not isinstance(value, Mapping):
        raise ValueError(f"`{name}` must map names to tensors, got {described(value)}.")
    for key, entry in value.items():
        if not is_tensor(entry):
            raise ValueError(
                f"`{name}` must map names to tensors, got {described(value)} with "
                f"{described(entry)} under {key!r}."
            )


def _sequence(name: str, values: Any, description: str) -> Any:
    if isinstance(values, str | bytes | Iterator) or not _has_items(values):
        raise ValueError(f"`{name}` must be a list of {description}, got {described(values)}.")
    return values


def _has_items(values: object) -> bool:
    has = hasattr(values, "__len__") and hasattr(values, "__iter__")
    return has and getattr(values, "ndim", 1) > 0
