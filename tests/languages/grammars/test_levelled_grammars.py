import numpy as np
import pytest
import torch

from ntpcompanion.languages.grammars.levelled_grammars import (
    NO_LABEL,
    random_levelled_pcfg,
    span_labels,
)
from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.language import PADDING


def test_the_levelled_family_has_its_levels():
    grammar = random_levelled_pcfg(
        np.random.default_rng(0), symbols=5, vocab=7, depth=2, pairs=2, words=3, stop=0.25
    )
    assert grammar.root.bool().tolist() == [True] * 3 + [False] * 2
    assert grammar.binary[:3, 3:, 3:].bool().sum((1, 2)).tolist() == [2, 2, 2]
    assert int(grammar.binary.bool().sum()) == 6
    assert grammar.lexical.bool().sum(1).tolist() == [1, 1, 1, 3, 3]
    assert grammar.lexical[:3].sum(1).tolist() == pytest.approx([0.25] * 3)
    paper = random_levelled_pcfg(np.random.default_rng(0))
    assert (paper.num_symbols, paper.vocab_size, paper.longest) == (50, 200, 32)
    law = paper.length_distribution(32)
    assert float(law.sum()) == pytest.approx(1)
    assert float(law @ torch.arange(1, 33).double()) == pytest.approx(17.03, abs=0.01)


def ambiguous():
    """Symbol 1 is the likelier source of word 0, but only symbol 2 may stand on the left of the
    sentence's only rule.
    """
    binary = torch.zeros(3, 3, 3)
    binary[0, 2, 1] = 1.0
    return PCFG(
        torch.tensor([1.0, 0, 0]),
        binary,
        torch.tensor([[0.0, 0.0], [0.9, 0.1], [0.2, 0.8]]).double().round(decimals=1),
    )


def test_labels_by_posterior_and_by_inside_differ_where_the_context_matters():
    tokens = torch.tensor([[0, 1], [1, 0]])
    assert span_labels(ambiguous(), tokens, 1, "inside").tolist() == [1, 2]
    assert span_labels(ambiguous(), tokens, 1, "posterior").tolist() == [2, 2]
    assert span_labels(ambiguous(), tokens, None, "posterior").tolist() == [0, 0]
    assert span_labels(ambiguous(), torch.tensor([[0, 1]]), None, "inside").tolist() == [0]


def test_the_whole_sentence_by_inside_is_labelled_by_a_symbol_that_can_start_it():
    grammar = PCFG(
        torch.tensor([0.5, 0.5, 0.0]),
        torch.zeros(3, 3, 3),
        torch.tensor([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]]),
    )
    assert span_labels(grammar, torch.tensor([[0]]), None, "inside").tolist() == [1]
    assert span_labels(grammar, torch.tensor([[0]]), 1, "inside").tolist() == [2]


def test_sentences_without_the_span_have_no_label():
    binary = torch.zeros(3, 3, 3)
    binary[0, 1, 2], binary[2, 1, 1] = 0.5, 1.0
    grammar = PCFG(torch.tensor([1.0, 0, 0]), binary, torch.tensor([[0.5], [1.0], [0.0]]))
    tokens = torch.tensor([[0, PADDING, PADDING], [0, 0, 0]])
    assert span_labels(grammar, tokens, 2, "inside").tolist() == [NO_LABEL, 2]
    # 2 words from the second on, not the first
    assert span_labels(grammar, tokens, 2, "posterior").tolist() == [NO_LABEL, NO_LABEL]
    assert span_labels(grammar, tokens, None, "posterior").tolist() == [0, 0]
    assert span_labels(grammar, tokens, 3, "posterior").tolist() == [NO_LABEL, 0]
    assert span_labels(recursive(), tokens * 0, 9, "posterior").tolist() == [NO_LABEL] * 2


def single_word():
    return PCFG(torch.ones(1), torch.zeros((1, 1, 1)), torch.ones((1, 1)))


def recursive():
    return PCFG(torch.ones(1), torch.full((1, 1, 1), 0.5), torch.tensor([[0.5]]))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda: span_labels(single_word(), torch.zeros(1, 1).long(), 9, "inside"),
            "`words` must be at most 1, the words of the longest sentence of the grammar, got 9",
        ),
        (
            lambda: random_levelled_pcfg(np.random.default_rng(0), symbols=3),
            "`symbols` must be at least `depth` = 6.* got 3",
        ),
        (
            lambda: random_levelled_pcfg(np.random.default_rng(0), words=300),
            "`words`",
        ),
        (
            lambda: random_levelled_pcfg(np.random.default_rng(0), pairs=65),
            "`pairs`",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(ask, words):
    with pytest.raises(ValueError, match=words):
        ask()
