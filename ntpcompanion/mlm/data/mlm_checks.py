"""Checks that several functions share: tensors of a shape, lists of seeds, languages
whose labels are known.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch

from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.validation import (
    argument_check,
    as_integer,
    as_number,
    check_shape,
    check_tensor,
    described,
)


@argument_check
def check_hmm_or_pcfg(language: object) -> None:
    """ValueError unless the language is one of the two whose hidden states or symbols are known."""
    if not isinstance(language, HMM | PCFG):
        raise ValueError(
            f"`language` must be an HMM or a PCFG, got {described(language)}. Of a plan, pass what "
            "`build()` returns."
        )


def check_integers(
    name: str, value: Any, shape: tuple[int | None, ...], description: str = ""
) -> None:
    """ValueError unless the value is a tensor of integers of a shape (None: any positive length);
    `description` says what the entries are.
    """
    check_tensor(name, value)
    check_shape(name, value.shape, shape, description)
    if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
        raise ValueError(f"`{name}` must be a tensor of integers, got {described(value)}.")


def check_numbers(
    name: str, value: Any, shape: tuple[int | None, ...], description: str = ""
) -> None:
    """ValueError unless the value is a tensor of finite floating-point numbers of a shape."""
    check_tensor(name, value)
    check_shape(name, value.shape, shape, description)
    if not value.is_floating_point():
        raise ValueError(
            f"`{name}` must be a tensor of floating-point numbers, got {described(value)}."
        )
    if not (finite := value.isfinite()).all():
        raise ValueError(
            f"`{name}` must be finite, got {float(value[~finite][0])}, one of "
            f"{int((~finite).sum())} entries that are not."
        )


def as_list(name: str, values: object, description: str) -> list[Any]:
    """The values as a list. ValueError for a text, and for what cannot be gone through."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ValueError(f"`{name}` must be a list of {description}, got {described(values)}.")
    return list(values)


def as_integers(name: str, values: object, minimum: int | None = None) -> list[int]:
    """The values as a list of Python integers of at least `minimum`. ValueError for others."""
    return [as_integer(name, value, minimum) for value in as_list(name, values, "integers")]


def as_numbers(
    name: str, values: object, each: Callable[[str, object], float] = as_number
) -> list[float]:
    """The values as a list of at least one number, each as `each` takes it. ValueError for an empty
    list, and for what is not a number.
    """
    if not (entries := as_list(name, values, "numbers")):
        raise ValueError(f"`{name}` must hold at least one number, got {described(values)}.")
    return [each(name, value) for value in entries]
