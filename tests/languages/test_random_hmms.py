import numpy as np
import pytest
import torch

from ntpcompanion.languages.random_hmms import random_block_hmm


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_random_family_has_its_blocks():
    hmm = random_block_hmm(np.random.default_rng(0), states=4, vocab=6, blocks=2, length=3)
    assert (
        hmm.transition.bool().tolist()
        == [[True] * 2 + [False] * 2] * 2 + [[False] * 2 + [True] * 2] * 2
    )
    assert (
        hmm.emission.bool().tolist()
        == [[True] * 3 + [False] * 3] * 2 + [[False] * 3 + [True] * 3] * 2
    )
    paper = random_block_hmm(np.random.default_rng(0))
    assert (paper.num_states, paper.vocab_size, paper.length) == (100, 200, 16)
    assert torch.equal(paper.transition, random_block_hmm(np.random.default_rng(0)).transition)


def test_concentrated_rows_are_distributions_without_negligible_entries():
    hmm = random_block_hmm(
        np.random.default_rng(0),
        states=20,
        vocab=40,
        blocks=2,
        transition_concentration=0.02,
        emission_concentration=0.05,
    )
    for table in (hmm.transition, hmm.emission):
        assert table.sum(1).tolist() == pytest.approx([1.0] * 20, abs=1e-12)
        assert float(table[table > 0].min()) >= 1e-12
        assert int((table > 0).sum()) < table.numel() // 2
    assert not hmm.transition[:10, 10:].any()
    tokens = hmm.sample(200, generator())
    sums = hmm.masked_conditional(tokens).sum(-1)
    assert float((sums - 1).abs().max()) < 1e-12


def test_default_tables_are_those_of_the_uniform_distribution_on_the_simplex():
    hmm = random_block_hmm(np.random.default_rng(5), states=6, vocab=8, blocks=2)
    rng = np.random.default_rng(5)
    for own, words in ((slice(0, 3), slice(0, 4)), (slice(3, 6), slice(4, 8))):
        assert hmm.transition[own, own].tolist() == rng.dirichlet(np.ones(3), 3).tolist()
        assert hmm.emission[own, words].tolist() == rng.dirichlet(np.ones(4), 3).tolist()


def test_blocks_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="`blocks` must divide `states` = 100 and `vocab` = 200"):
        random_block_hmm(np.random.default_rng(0), blocks=3)
