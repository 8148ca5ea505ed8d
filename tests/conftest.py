"""Shared by all tests: draws that are the same in every run."""

import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from jaxtyping import config

TESTS = Path(__file__).parent

settings.register_profile(
    "derandomized", derandomize=True, deadline=None, max_examples=60, database=None
)
settings.load_profile("derandomized")


# The tests of these rooms compute in floating point.
NUMERICAL = {"linear", "flatness", "dyck", "languages", "networks", "mlm", "experiments"}


def pytest_configure() -> None:
    """A script's background job ignores Ctrl-C, and so would all that the tests start."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `make portable` runs under other kernels."""
    for item in items:
        if item.path.is_relative_to(TESTS) and item.path.relative_to(TESTS).parts[0] in NUMERICAL:
            item.add_marker(pytest.mark.numerical)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240228)


@pytest.fixture
def unchecked_shapes() -> Iterator[None]:
    """What a user meets: outside of tests no annotation is enforced, and the function's own words
    must say what is wrong.
    """
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", before)
