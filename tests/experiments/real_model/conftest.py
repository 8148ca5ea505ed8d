"""A model of 12 tokens in a folder, and a text of words that it knows."""

import pytest

from tests.languages.opt import saved_with_text, small_opt


@pytest.fixture(scope="session")
def model_text(tmp_path_factory):
    """The common part of a plan: 14 contexts of two tokens in the second half of a text."""
    folder = tmp_path_factory.mktemp("model")
    return {
        **saved_with_text(folder, small_opt(), 120, (0.4, 0.2, 0.2, 0.1, 0.1)),
        "segments": 2,
        "segment": 1,
        "context_length": 2,
        "contexts": 14,
        "seed": 0,
    }
