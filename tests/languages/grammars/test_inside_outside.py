"""Charts where their scale or their number of trees is large; every entry of small ones is held
against all parse trees in test_pcfg.py.
"""

import math

import numpy as np
import pytest
import torch

from ntpcompanion.languages.grammars.levelled_grammars import random_levelled_pcfg
from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.language import PADDING


@pytest.mark.parametrize("n", range(1, 13))
def test_one_symbol_has_catalan_many_parses(n):
    """S → S S and S → word, both with probability 1/2: every tree has probability 2^(1 − 2n), and n
    words have C(n − 1) trees.
    """
    grammar = PCFG(torch.ones(1), torch.full((1, 1, 1), 0.5), torch.full((1, 1), 0.5))
    count = float(grammar.length_distribution(n)[n - 1]) * 2 ** (2 * n - 1)
    assert count == math.comb(2 * n - 2, n - 1) // n  # powers of two are exact in float64
    log_count = float(grammar.log_prob(torch.zeros(1, n, dtype=torch.int64))) + (
        2 * n - 1
    ) * math.log(2)
    assert round(math.exp(log_count)) == count
    assert math.exp(log_count) == pytest.approx(count, rel=1e-12)


def test_paper_size_in_mixed_lengths_up_to_32():
    grammar = random_levelled_pcfg(np.random.default_rng(0))
    tokens = grammar.sample(24, torch.Generator().manual_seed(0))
    lengths = (tokens != PADDING).sum(1)
    assert len(set(lengths.tolist())) > 5
    assert torch.allclose(
        grammar.masked_conditional(tokens).sum(-1), (tokens != PADDING).double(), atol=1e-12
    )
    assert torch.allclose(
        grammar.latent_posterior(tokens).sum((1, 2, 3)), 2 * lengths.double() - 1, atol=1e-10
    )


@pytest.mark.parametrize("seed", range(4))
def test_sparse_grammars_also_know_words_that_need_other_constituents(seed):
    """Another word may be possible only with spans that nothing can span as the sentence stands,
    several inside each other.
    """
    grammar = random_levelled_pcfg(
        np.random.default_rng(seed), symbols=12, vocab=9, depth=4, pairs=3, words=2, stop=0.3
    )
    for row in grammar.sample(30, torch.Generator().manual_seed(seed)):
        sentence = row[row != PADDING]
        laws = grammar.masked_conditional(sentence[None])[0]
        for t in range(len(sentence)):
            swapped = sentence.repeat(9, 1)
            swapped[:, t] = torch.arange(9)
            assert laws[t].tolist() == pytest.approx(
                grammar.log_prob(swapped).softmax(0).tolist(), abs=1e-12
            )


def test_a_word_whose_constituents_are_impossible_in_the_sentence():
    """S → X C | A Y, X → D B, Y → B C, one word for each of A, B, C, D: after "a b c" was seen, "d"
    at its front needs X over "a b".
    """
    S, X, Y, A, B, C, D = range(7)
    root, binary, lexical = torch.zeros(7), torch.zeros(7, 7, 7), torch.zeros(7, 4)
    root[S] = 1
    binary[S, X, C], binary[S, A, Y], binary[X, D, B], binary[Y, B, C] = 0.25, 0.75, 1, 1
    for word, symbol in enumerate((A, B, C, D)):
        lexical[symbol, word] = 1
    law = PCFG(root, binary, lexical).masked_conditional(torch.tensor([[0, 1, 2]]))[0]
    assert law.tolist() == [[0.75, 0, 0, 0.25], [0, 1, 0, 0], [0, 0, 1, 0]]


def test_long_sentences_do_not_underflow():
    """The word of probability 1e-9, 120 times: e^-2600, far below float64."""
    grammar = PCFG(
        torch.ones(1),
        torch.full((1, 1, 1), 0.5),
        torch.tensor([[0.5 - 1e-9, 1e-9]], dtype=torch.float64),
    )
    tokens = torch.ones(1, 120, dtype=torch.int64)
    trees_of_120 = math.comb(238, 119) // 120
    assert float(grammar.log_prob(tokens)) == pytest.approx(
        math.log(trees_of_120) + 119 * math.log(0.5) + 120 * math.log(1e-9), rel=1e-12
    )
    assert grammar.masked_conditional(tokens)[0, 60].tolist() == pytest.approx(
        [1 - 2e-9, 2e-9], rel=1e-9
    )
