"""Shared by all tests: draws that are the same in every run."""

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("derandomized", derandomize=True, deadline=None, max_examples=60, database=None)
settings.load_profile("derandomized")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240228)
