"""Lists of numbers as arguments that several functions share."""

from collections.abc import Callable, Iterable
from typing import Any

from ntpcompanion.validation import (
    as_integer,
    as_number,
    described,
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
