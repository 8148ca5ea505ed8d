import itertools
import math

import pytest
import torch

from ntpcompanion.mlm.data.language_plans import HMMPlan
from ntpcompanion.mlm.evaluation.block_predictor import block_divergence
from ntpcompanion.mlm.evaluation.evaluate import draw_test_set


def test_the_divergence_is_that_from_the_law_in_the_block_by_enumeration():
    language = HMMPlan(states=4, words=6, length=3, blocks=2).build()
    test = draw_test_set(language, 20, 3, 0)
    sentences = torch.tensor(list(itertools.product(range(6), repeat=3)))
    chance = language.log_prob(sentences).exp()
    found = block_divergence(language, test)
    for row in range(20):
        t, law = int(test.positions[row, 0]), test.conditional[row]
        block = int(law.argmax()) // 3  # words 0 … 2 are of the first block
        own = (sentences // 3 == block).all(1)
        given = torch.stack([chance[own & (sentences[:, t] == word)].sum() for word in range(6)])
        given = given / given.sum()
        expected = sum(p * math.log(p / q) for p, q in zip(law, given, strict=True) if p > 0)
        assert float(found[row]) == pytest.approx(float(expected), abs=1e-12)


def test_where_all_states_of_a_block_are_alike_nothing_is_left_to_say():
    language = HMMPlan(states=2, words=6, length=3, blocks=2).build()  # a state is its block
    found = block_divergence(language, draw_test_set(language, 20, 3, 0))
    assert float(found.abs().max()) < 1e-12
