"""Checks of seeds, sequences and rows, beside those of `ntpcompanion.validation`: the same mistake
gets the same sentence in every room.
"""

import operator
from collections.abc import Iterator
from typing import Any

from ntpcompanion.validation import as_integer, as_integer_array, as_positive, described


def check_seed(seed: object) -> None:
    """ValueError unless the seed is a non-negative integer."""
    as_integer("seed", seed, 0)


def check_size(name: str, value: object) -> None:
    """ValueError unless the value is an integer of at least 1."""
    as_integer(name, value, 1)


def check_positive(name: str, value: object) -> None:
    """ValueError unless the value is a positive, finite number."""
    as_positive(name, value)


def check_seeds(seeds: object) -> None:
    """ValueError unless the seeds are a sequence of non-negative integers."""
    for number, seed in enumerate(_sequence("seeds", seeds, "integers")):
        if isinstance(seed, bool) or not hasattr(seed, "__index__") or operator.index(seed) < 0:
            raise ValueError(
                f"`seeds` must hold non-negative integers only, got {described(seed)} at {number}."
            )


def check_all(name: str, values: object, kind: type) -> None:
    """ValueError unless the value is a sequence of at least one instance of a class."""
    given = _sequence(name, values, kind.__name__)
    if not len(given):
        raise ValueError(f"`{name}` must hold at least one {kind.__name__}, got an empty list.")
    for value in given:
        if not isinstance(value, kind):
            raise ValueError(
                f"`{name}` must hold instances of {kind.__name__} only, got {described(value)}."
            )


def check_rows(name: str, rows: object, count: int) -> None:
    """ValueError unless the value is the index of one row, or of several, in 0 … `count` − 1."""
    index = as_integer_array(name, rows)
    if index.size and not 0 <= index.min() <= index.max() < count:
        wrong = index[(index < 0) | (index >= count)][0] if index.ndim else index
        raise ValueError(f"`{name}` must lie in 0 … {count - 1}, got {wrong}.")


def _sequence(name: str, values: Any, what: str) -> Any:
    if isinstance(values, str | bytes | Iterator) or not _has_items(values):
        raise ValueError(f"`{name}` must be a list of {what}, got {described(values)}.")
    return values


def _has_items(values: object) -> bool:
    return hasattr(values, "__len__") and hasattr(values, "__iter__")
