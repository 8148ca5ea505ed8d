"""Charts where their scale or their number of trees is large; every entry of small ones is held against all parse trees in test_pcfg.py."""

import math

import numpy as np
import pytest
import torch

from ntpcompanion.languages.grammars import random_levelled_pcfg
from ntpcompanion.languages.language import PADDING
from ntpcompanion.languages.pcfg import PCFG
from tests.threads import one_thread  # noqa: F401 (a fixture of all tests here)


@pytest.mark.parametrize("n", range(1, 13))
def test_one_symbol_has_catalan_many_parses(n):
    """S → S S and S → word, both with probability 1/2: every tree has probability 2^(1 − 2n), and n words have C(n − 1) trees."""
    grammar = PCFG(torch.ones(1), torch.full((1, 1, 1), 0.5), torch.full((1, 1), 0.5))
    count = float(grammar.length_law(n)[n - 1]) * 2 ** (2 * n - 1)
    assert count == math.comb(2 * n - 2, n - 1) // n  # powers of two are exact in float64
    log_count = float(grammar.log_prob(torch.zeros(1, n, dtype=torch.int64))) + (2 * n - 1) * math.log(2)
    assert round(math.exp(log_count)) == count
    assert math.exp(log_count) == pytest.approx(count, rel=1e-12)


def test_paper_size_in_mixed_lengths_up_to_32():
    grammar = random_levelled_pcfg(np.random.default_rng(0))
    tokens = grammar.sample(24, torch.Generator().manual_seed(0))
    lengths = (tokens != PADDING).sum(1)
    assert len(set(lengths.tolist())) > 5
    assert torch.allclose(grammar.masked_conditional(tokens).sum(-1), (tokens != PADDING).double(), atol=1e-12)
    assert torch.allclose(grammar.latent_posterior(tokens).sum((1, 2, 3)), 2 * lengths.double() - 1, atol=1e-10)


def test_long_sentences_do_not_underflow():
    """The word of probability 1e-9, 120 times: e^-2600, far below float64."""
    grammar = PCFG(torch.ones(1), torch.full((1, 1, 1), 0.5), torch.tensor([[0.5 - 1e-9, 1e-9]], dtype=torch.float64))
    tokens = torch.ones(1, 120, dtype=torch.int64)
    trees_of_120 = math.comb(238, 119) // 120
    assert float(grammar.log_prob(tokens)) == pytest.approx(math.log(trees_of_120) + 119 * math.log(0.5) + 120 * math.log(1e-9), rel=1e-12)
    assert grammar.masked_conditional(tokens)[0, 60].tolist() == pytest.approx([1 - 2e-9, 2e-9], rel=1e-9)
