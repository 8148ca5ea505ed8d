import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.languages.hmm import HMM
from ntpcompanion.languages.language import Language
from ntpcompanion.languages.random_hmms import random_block_hmm
from tests.languages.padding import check_padding_changes_nothing


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def small(seed, states, vocab, length, zeros=0.0):
    """A random HMM with about this share of zeros in every table."""
    draws = np.random.default_rng(seed)

    def rows(*shape):
        table = draws.exponential(size=shape) * (draws.random(shape) >= zeros)
        table[..., 0] += table.sum(-1) == 0
        return torch.tensor(table / table.sum(-1, keepdims=True))

    return HMM(rows(states), rows(states, states), rows(states, vocab), length)


def joint(hmm, sentence):
    """Pr(states, sentence) for every path of states: the definition."""
    initial, transition, emission = (
        table.tolist() for table in (hmm.initial, hmm.transition, hmm.emission)
    )
    return {
        path: initial[path[0]]
        * math.prod(transition[s][t] for s, t in itertools.pairwise(path))
        * math.prod(emission[s][x] for s, x in zip(path, sentence, strict=True))
        for path in itertools.product(range(len(initial)), repeat=len(sentence))
    }


sizes = {
    "seed": st.integers(0, 10**6),
    "states": st.integers(1, 3),
    "vocab": st.integers(1, 3),
    "length": st.integers(1, 4),
    "zeros": st.sampled_from([0.0, 0.5]),
}


@given(**sizes)
def test_everything_equals_the_sum_over_paths(seed, states, vocab, length, zeros):
    hmm = small(seed, states, vocab, length, zeros)
    strings = list(itertools.product(range(vocab), repeat=length))
    paths = {string: joint(hmm, string) for string in strings}
    total = {string: math.fsum(paths[string].values()) for string in strings}
    assert math.fsum(total.values()) == pytest.approx(1)
    assert hmm.log_prob(torch.tensor(strings)).exp().tolist() == pytest.approx(
        list(total.values()), abs=1e-14
    )
    possible = [string for string in strings if total[string] > 0]
    conditionals, posteriors = (
        hmm.masked_conditional(torch.tensor(possible)),
        hmm.latent_posterior(torch.tensor(possible)),
    )
    for string, conditional, posterior in zip(possible, conditionals, posteriors, strict=True):
        for t in range(length):
            filled = np.array([total[(*string[:t], v, *string[t + 1 :])] for v in range(vocab)])
            assert conditional[t].numpy() == pytest.approx(filled / filled.sum(), abs=1e-12)
            at = [
                math.fsum(p for path, p in paths[string].items() if path[t] == s) / total[string]
                for s in range(states)
            ]
            assert posterior[t].numpy() == pytest.approx(np.array(at), abs=1e-12)


@pytest.mark.usefixtures("unchecked_shapes")
def test_it_is_a_language_and_takes_arrays():
    hmm = HMM(np.ones(1), np.ones((1, 1)), np.array([[0.25, 0.75]]), 2)
    assert isinstance(hmm, Language)
    assert (hmm.vocab_size, hmm.num_states) == (2, 1)
    assert hmm.masked_conditional(torch.tensor([[0, 1]])).tolist() == [[[0.25, 0.75]] * 2]


def test_a_padded_batch_equals_its_sentences_alone():
    posterior, lengths = check_padding_changes_nothing(small(1, 3, 4, 5), atol=1e-14)
    assert not any(posterior[row, n:].any() for row, n in enumerate(lengths))


def test_a_thousand_words_stay_normalized():
    hmm = random_block_hmm(np.random.default_rng(0), states=12, vocab=24, blocks=3, length=1000)
    tokens = hmm.sample(3, generator())
    assert torch.allclose(
        hmm.masked_conditional(tokens).sum(-1), torch.ones(3, 1000).double(), atol=1e-12
    )
    assert torch.allclose(
        hmm.latent_posterior(tokens).sum(-1), torch.ones(3, 1000).double(), atol=1e-12
    )
    slow = torch.stack([hmm._log_passes(hmm._likelihood(row[None])[0].log())[1] for row in tokens])
    assert torch.allclose(hmm.log_prob(tokens), slow, rtol=1e-13)
    assert (slow < -1000).all()


def test_evidence_that_turns_halfway_is_not_lost():
    """Two states that never change: 500 words for the first, 500 for the second; each half alone is
    worth e^1150, far below float64.
    """
    hmm = HMM(
        torch.tensor([0.5, 0.5]),
        torch.eye(2),
        torch.tensor([[0.9, 0.1], [0.1, 0.9]]).double().round(decimals=1),
        1000,
    )
    tokens = torch.tensor([[0] * 500 + [1] * 500, [0] * 501 + [1] * 499])
    posterior = hmm.latent_posterior(tokens)
    assert posterior[0, 250].tolist() == pytest.approx([0.5, 0.5], abs=1e-9)
    assert posterior[1, 999].tolist() == pytest.approx([81 / 82, 1 / 82], abs=1e-9)
    assert float(hmm.log_prob(tokens)[0]) == pytest.approx(500 * math.log(0.09))
    assert hmm.masked_conditional(tokens)[0, 0].tolist() == pytest.approx(
        [0.9 * 0.1 + 0.1 * 0.9, 0.9 * 0.9 + 0.1 * 0.1], abs=1e-9
    )


def test_frequencies_are_within_five_standard_errors():
    hmm, n = small(3, 3, 2, 3, zeros=0.3), 20000
    tokens = hmm.sample(n, generator())
    strings = torch.tensor(list(itertools.product(range(2), repeat=3)))
    probability = hmm.log_prob(strings).exp()
    seen = (tokens[:, None] == strings).all(-1).double().mean(0)
    assert (
        (seen - probability).abs() <= 5 * (probability * (1 - probability) / n).sqrt() + 1e-12
    ).all()
    assert len(set(probability.tolist())) > 2


def test_the_states_are_those_that_emitted_the_words():
    hmm = random_block_hmm(np.random.default_rng(0), states=6, vocab=9, blocks=3, length=7)
    tokens, states = hmm.sample_with_states(500, generator())
    assert tokens.shape == states.shape == (500, 7)
    assert (tokens // 3 == states // 2).all()
    assert (states // 2 == states[:, :1] // 2).all()
    assert {int(k) for k in states[:, 0] // 2} == {0, 1, 2}
    posterior = hmm.latent_posterior(tokens).gather(2, states[..., None])
    assert float(posterior.mean()) > 0.5


def test_the_generator_decides():
    hmm = small(5, 3, 4, 6)
    first, again, other = (hmm.sample(50, generator(seed)) for seed in (7, 7, 8))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(first, hmm.sample_with_states(50, generator(7))[0])
    assert hmm.sample(0, generator()).shape == (0, 6)


def test_a_batch_may_be_empty():
    hmm, none = small(0, 2, 3, 4), torch.zeros(0, 4, dtype=torch.int64)
    assert hmm.log_prob(none).shape == (0,)
    assert hmm.masked_conditional(none).shape == (0, 4, 3)
    assert hmm.latent_posterior(none).shape == (0, 4, 2)


def test_an_impossible_sentence_has_log_prob_minus_infinity_and_no_conditional():
    hmm = HMM(torch.ones(1), torch.ones(1, 1), torch.tensor([[0.0, 1.0]]), 2)
    tokens = torch.tensor([[1, 1], [1, 0]])
    assert hmm.log_prob(tokens).tolist() == [0, -math.inf]
    for ask in (hmm.masked_conditional, hmm.latent_posterior):
        with pytest.raises(
            ValueError, match=r"`tokens`: row 1, \[1, 0\], has probability 0 in this language"
        ):
            ask(tokens)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_same():
    hmm = small(2, 3, 4, 6)
    tokens = hmm.sample(20, generator())
    assert torch.equal(hmm.sample(20, generator(), "cuda").cpu(), tokens)
    assert torch.allclose(
        hmm.masked_conditional(tokens.cuda()).cpu(), hmm.masked_conditional(tokens), atol=1e-12
    )
