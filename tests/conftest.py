"""Shared by all tests: draws that are the same in every run."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import settings
from jaxtyping import config

settings.register_profile("derandomized", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("derandomized")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240228)


@pytest.fixture
def unchecked_shapes() -> Iterator[None]:
    """What a user meets: outside of tests no annotation is enforced, and the function's own words must say what is wrong."""
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", before)
