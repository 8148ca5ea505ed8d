"""A model of 12 tokens in a folder, and a text of words that it knows."""

import numpy as np
import pytest

from tests.languages.opt import WORDS, small_opt, small_tokenizer


@pytest.fixture(scope="session")
def model_text(tmp_path_factory):
    """The common part of a plan: 14 contexts of two tokens in the second half of a text."""
    folder = tmp_path_factory.mktemp("model")
    small_opt().save_pretrained(folder / "opt")
    small_tokenizer().save_pretrained(folder / "opt")
    words = np.random.default_rng(0).choice(WORDS[:5], 120, p=[0.4, 0.2, 0.2, 0.1, 0.1])
    (folder / "text.txt").write_text(" ".join(words), encoding="utf-8")
    return {
        "source": str(folder / "opt"),
        "text": str(folder / "text.txt"),
        "segments": 2,
        "segment": 1,
        "context_length": 2,
        "contexts": 14,
        "seed": 0,
    }
