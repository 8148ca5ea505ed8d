import math
from itertools import product

import pytest
import torch

from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.mlm.data.language_plans import HMMPlan, PCFGPlan
from ntpcompanion.mlm.evaluation import context_ablation as blind
from ntpcompanion.mlm.evaluation.context_ablation import context_gaps, with_erasures

ONE_BLOCK = HMMPlan(2, 3, 3, 1, 1, 0.5, 0.7)
TWO_BLOCKS = HMMPlan(4, 6, 3, 2, 1, 0.5, 0.7)
GRAMMAR = PCFGPlan(6, 4, 3, 0, 2, 3)  # sentences of 1 to 4 words


def sentences_of(language, lengths):
    """Every possible sentence and its probability."""
    for n in lengths:
        for words in product(range(language.vocab_size), repeat=n):
            chance = float(language.log_prob(torch.tensor([words])).exp())
            if chance:
                yield words, chance


def loss_of_one_who_knows(what, sentences):
    """H(x_t | what(sentence, t)) with t uniform: joint probabilities, summed one by one."""
    joint, given = {}, {}
    for words, chance in sentences:
        for t, word in enumerate(words):
            known = what(words, t)
            weight = chance / len(words)
            joint[known, word] = joint.get((known, word), 0.0) + weight
            given[known] = given.get(known, 0.0) + weight
    return -math.fsum(p * math.log(p / given[known]) for (known, _), p in joint.items())


def position(words, t):
    return len(words), t


def neighbours(words, t):
    return len(words), t, words[max(t - 1, 0) : t], words[t + 1 : t + 2]


def others(words, t):
    return len(words), t, words[:t], words[t + 1 :]


@pytest.mark.parametrize("plan", [ONE_BLOCK, TWO_BLOCKS, GRAMMAR])
def test_all_losses_are_those_of_the_enumerated_language(plan):
    language = plan.build()
    lengths = [plan.length] if isinstance(plan, HMMPlan) else range(1, plan.length + 1)
    sentences = list(sentences_of(language, lengths))
    found = context_gaps(language, 10, 0)
    expected = [loss_of_one_who_knows(what, sentences) for what in (others, position, neighbours)]
    assert [found.floor, found.position, found.neighbours] == pytest.approx(expected, abs=1e-12)
    assert (found.floor_stderr, found.neighbours_stderr) == (0, 0)
    half = language.vocab_size // (2 if plan == TWO_BLOCKS else 1)
    block = loss_of_one_who_knows(
        lambda words, t: (*position(words, t), plan == TWO_BLOCKS and words[0] // half), sentences
    )
    assert found.block == pytest.approx(block, abs=1e-12)
    assert found.learnable_gap == pytest.approx(min(block, expected[1]) - expected[0], abs=1e-12)
    assert found.neighbours_gap == pytest.approx(expected[2] - expected[0], abs=1e-12)


@pytest.mark.parametrize("plan", [TWO_BLOCKS, GRAMMAR])
def test_drawn_losses_are_within_five_standard_errors(plan, monkeypatch):
    language = plan.build()
    exact = context_gaps(language, 10, 0)
    monkeypatch.setattr(blind, "FEW_SENTENCES", 0)
    drawn = context_gaps(language, 3000, 0, enumerated=0)
    assert 0 < drawn.floor_stderr < 0.03
    assert drawn.floor == pytest.approx(exact.floor, abs=5 * drawn.floor_stderr)
    if plan == GRAMMAR:
        assert 0 < drawn.neighbours_stderr < 0.03
    assert drawn.neighbours == pytest.approx(
        exact.neighbours, abs=5 * drawn.neighbours_stderr + 1e-12
    )


def test_a_word_that_is_erased_is_summed_over():
    language = GRAMMAR.build()
    erasing, gone = with_erasures(language), language.vocab_size
    filled = torch.tensor([(1, word, 0) for word in range(gone)])
    total = float(language.log_prob(filled).exp().sum())
    found = float(erasing.log_prob(torch.tensor([[1, gone, 0]])).exp())
    assert found == pytest.approx(total / 8, abs=1e-15)


def test_a_grammar_without_a_longest_sentence_is_refused():
    binary = torch.tensor([[[0.3]]])
    with pytest.raises(
        ValueError, match=r"`language` must have a longest sentence, got a ntpcompanion\.PCFG"
    ):
        context_gaps(PCFG(torch.ones(1), binary, torch.tensor([[0.7]])), 10, 0)


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_plan_in_place_of_its_language_is_told_to_be_built():
    words = r"must be a HMM or PCFG, got .*HMMPlan\. Of a plan, pass what `build\(\)` returns"
    with pytest.raises(ValueError, match=words):
        context_gaps(ONE_BLOCK, 20, 0)
