from dataclasses import replace

import pytest
import torch

from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.mlm.data.language_plans import PCFGPlan
from tests.mlm.cases import MIXED, SMALL


def test_a_language_plan_builds_the_language_of_its_sizes():
    hmm, pcfg = SMALL.build(), MIXED.build()
    assert isinstance(hmm, HMM)
    assert (hmm.num_states, hmm.vocab_size, hmm.length) == (2, 6, 4)
    assert hmm.transition.diag().tolist() == [1.0, 1.0]  # two blocks of one state
    assert isinstance(pcfg, PCFG)
    assert (pcfg.num_symbols, pcfg.vocab_size, pcfg.longest) == (6, 8, 4)
    assert torch.equal(hmm.emission, SMALL.build().emission)
    assert not torch.equal(hmm.emission, replace(SMALL, seed=1).build().emission)


def test_the_longest_sentence_of_a_grammar_is_that_of_its_depth():
    assert [replace(MIXED, depth=depth).length for depth in (1, 3, 6)] == [1, 4, 32]
    assert MIXED.build().longest == MIXED.length


def test_small_dirichlet_parameters_concentrate_the_rows():
    def largest(plan):
        language = plan.build()
        return language.transition.amax(1).mean(), language.emission.amax(1).mean()

    even = replace(SMALL, states=40, words=60)
    step, word = largest(even)
    assert largest(replace(even, transition=0.05))[0] > 2 * step
    assert largest(replace(even, emission=0.05))[1] > 2 * word


def test_a_grammar_has_as_many_rules_as_it_is_asked_for():
    grammar = replace(MIXED, pairs=2, words_each=3).build()
    assert (grammar.binary[:4] > 0).sum((1, 2)).tolist() == [2] * 4
    assert (grammar.lexical[4:] > 0).sum(1).tolist() == [3] * 2
    most = MIXED.build()  # two symbols on each of three levels
    assert (most.binary[:4] > 0).sum((1, 2)).tolist() == [4] * 4
    assert torch.equal(most.binary, replace(MIXED, pairs=4, words_each=8).build().binary)


def test_blocks_must_divide():
    with pytest.raises(ValueError, match=r"`nonterminals` must be at least `depth` = 3.* got 2"):
        PCFGPlan(2, 8, 3).build()
    with pytest.raises(ValueError, match="`words_each` must be at most `words` = 8, got 9"):
        PCFGPlan(6, 8, 3, words_each=9).build()
    with pytest.raises(ValueError, match="`blocks` must divide"):
        replace(SMALL, blocks=4).build()
