import math
from collections import Counter

import numpy as np
import pytest
import torch

from ntpcompanion.languages.grammars.derivation import draw_derivation
from ntpcompanion.languages.grammars.levelled_grammars import random_levelled_pcfg
from ntpcompanion.languages.grammars.pcfg import PCFG


def sentence(nodes):
    return [node.word for node in nodes if node.word is not None]


def test_drawn_sentences_have_their_probabilities():
    grammar = random_levelled_pcfg(
        np.random.default_rng(0), symbols=4, vocab=3, depth=3, pairs=1, words=2
    )
    rng, n = np.random.default_rng(1), 4000
    counts = Counter(tuple(sentence(draw_derivation(grammar, rng))) for _ in range(n))
    for words, count in counts.items():
        p = math.exp(grammar.log_prob(torch.tensor([words]))[0])
        assert abs(count - n * p) < 5 * (n * p * (1 - p)) ** 0.5 + 1e-9, words


def test_every_node_spans_its_words_and_is_rewritten_by_a_rule():
    grammar = random_levelled_pcfg(
        np.random.default_rng(0), symbols=12, vocab=20, depth=4, pairs=9, words=20
    )
    rng = np.random.default_rng(2)
    for _ in range(30):
        nodes = draw_derivation(grammar, rng)
        tokens = sentence(nodes)
        assert (nodes[0].start, nodes[0].words, nodes[0].parent) == (0, len(tokens), None)
        assert len(nodes) == 2 * len(tokens) - 1
        posterior = grammar.latent_posterior(torch.tensor([tokens]))[0]
        for place, node in enumerate(nodes):
            below = [other for other in nodes if other.parent == place]
            assert posterior[node.start, node.words - 1, node.symbol] > 0
            if node.word is None:
                left, right = below
                assert (left.start, right.start, left.words + right.words) == (
                    node.start,
                    node.start + left.words,
                    node.words,
                )
                assert left.level == right.level == node.level + 1
                assert grammar.binary[node.symbol, left.symbol, right.symbol] > 0
            else:
                assert (node.words, below) == (1, [])
                assert grammar.lexical[node.symbol, node.word] > 0


def test_a_derivation_that_does_not_end_is_refused():
    one = torch.ones(1, dtype=torch.float64)
    endless = PCFG(one, 0.99 * one.view(1, 1, 1), 0.01 * one.view(1, 1))
    with pytest.raises(ValueError, match="`max_words`"):
        draw_derivation(endless, np.random.default_rng(3), max_words=50)
