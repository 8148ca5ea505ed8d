import numpy as np
import pytest
import torch

from ntpcompanion.languages.enumeration import sentence_table
from ntpcompanion.languages.random_hmms import random_hmm


def test_entries_are_the_probabilities_of_their_sentences():
    language = random_hmm(np.random.default_rng(0), states=2, vocab=3, length=4)
    table = sentence_table(language, 4)
    assert table.shape == (3, 3, 3, 3)
    assert float(table.sum()) == pytest.approx(1, abs=1e-12)
    sentence = torch.tensor([[2, 0, 1, 1]])
    assert float(table[2, 0, 1, 1].log()) == pytest.approx(float(language.log_prob(sentence)[0]))
    shorter = sentence_table(language, 3)
    assert torch.allclose(table.sum(-1), shorter, rtol=1e-12)
