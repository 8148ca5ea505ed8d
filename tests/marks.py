"""Which parameters of a test are left to `make test-slow`."""

from collections.abc import Container, Iterable
from typing import Any

import pytest


def rest_slow(values: Iterable[Any], quick: Container[Any]) -> list[Any]:
    """The values as parameters of a test, of which all but the `quick` ones are slow."""
    return [
        value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values
    ]


def slow(*cases: tuple[Any, ...]) -> list[Any]:
    """Rows of parameters of a test, all of them slow."""
    return [pytest.param(*case, marks=pytest.mark.slow) for case in cases]
