import numpy as np
import pytest
import torch

from ntpcompanion.languages.language_checks import checked_tokens
from ntpcompanion.languages.random_hmms import random_block_hmm


def tiny():
    return random_block_hmm(np.random.default_rng(3), states=4, vocab=4, blocks=2, length=3)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (torch.tensor([[0, 4]]), r"`tokens` must lie in 0 … 3, or be -1 for padding, got 0 … 4"),
        (torch.tensor([[0, -2]]), r"`tokens` must lie in 0 … 3.* got -2 … 0"),
        (
            torch.tensor([[0, 1], [-1, 1]]),
            "`tokens`",
        ),
        (torch.tensor([[0, -1, 1]]), r"`tokens`: row 0 is \[0, -1, 1\]"),
        (torch.tensor([[-1, -1]]), r"`tokens`: row 0 is \[-1, -1\]"),
        (torch.zeros(2, 0, dtype=torch.int64), "`tokens` has 2 sentences of no word"),
    ],
)
def test_what_are_no_sentences_is_refused(tokens, words):
    with pytest.raises(ValueError, match=words):
        tiny().log_prob(tokens)


def test_small_integers_are_tokens_too():
    tokens, lengths = checked_tokens(torch.tensor([[1, 2], [3, -1]], dtype=torch.int8), 4)
    assert tokens.dtype == torch.int64
    assert lengths.tolist() == [2, 1]
