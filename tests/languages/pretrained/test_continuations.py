"""Oracles: every string scored alone by the model, and an HMM whose first state is the text."""

import itertools

import pytest
import torch

from ntpcompanion.languages import Continuations, Language
from ntpcompanion.languages.pretrained.continuations import (
    enumerate_continuations,
    frequent_continuation_words,
)
from ntpcompanion.languages.pretrained.word_model import WordModel
from ntpcompanion.languages.random_hmms import random_block_hmm
from ntpcompanion.randomness import stream
from tests.languages.llama import small_llama

WORDS, BOS = [1, 2, 4, 5], 0
TEXTS = ([BOS, 3, 6], [BOS, 6], [BOS, 2, 2, 5])
EVERY = torch.tensor(list(itertools.product(range(4), repeat=3)))


@pytest.fixture(scope="module")
def reader():
    return WordModel(small_llama(), WORDS, BOS)


@pytest.fixture(scope="module")
def scored(reader):
    """(texts, strings) the probability of each string after each text, one string at a time."""
    ids, joint = torch.tensor(WORDS), torch.zeros(len(TEXTS), len(EVERY), dtype=torch.float64)
    for k, text in enumerate(TEXTS):
        for number, string in enumerate(EVERY):
            whole = torch.cat([torch.tensor(text), ids[string]])
            with torch.no_grad():
                logits = reader.model(input_ids=whole[None]).logits[0][:, ids].double()
            log_p = logits.log_softmax(1)[len(text) - 1 : -1]
            joint[k, number] = log_p.gather(1, string[:, None]).sum().exp()
    return joint


def test_all_continuations(reader, scored):
    language, coverage = enumerate_continuations(reader, TEXTS, 3, 16, chunk=5)
    assert coverage == pytest.approx(1)
    assert isinstance(language, Language)
    assert language.vocab_size == 4
    assert language.length == 3
    assert language.log_prob(EVERY).exp() == pytest.approx(scored.mean(0), rel=1e-5)
    assert language.latent_posterior(EVERY).T.numpy() == pytest.approx(
        (scored / scored.sum(0)).numpy(), rel=1e-5
    )


def test_beginnings_are_the_most_probable(reader, scored):
    pairs = scored.mean(0).view(16, 4).sum(1)
    best = pairs.argsort(descending=True)[:5].sort().values
    language, coverage = enumerate_continuations(reader, TEXTS, 3, 5)
    assert (language.prefixes @ torch.tensor([4, 1])).tolist() == best.tolist()
    assert coverage == pytest.approx(float(pairs[best].sum()), rel=1e-5)
    other = next(number for number in range(16) if number not in best.tolist())
    assert language.log_prob(EVERY[4 * other : 4 * other + 1]).tolist() == [-torch.inf]
    left = (scored.mean(0).view(16, 4)[best] / pairs[best].sum()).flatten()
    strings = (best[:, None] * 4 + torch.arange(4)).flatten()
    assert language.log_prob(EVERY[strings]).exp() == pytest.approx(left, rel=1e-5)


@pytest.fixture(scope="module")
def hmm():
    return random_block_hmm(stream(0, "x"), states=3, vocab=4, length=3, blocks=1)


@pytest.fixture(scope="module")
def table(hmm):
    """The same language; its latent variable is the first state."""
    joint = hmm.log_prob(EVERY).exp()[:, None] * hmm.latent_posterior(EVERY)[:, 0]
    return Continuations(EVERY[::4, :2], 7 * joint.T.reshape(3, 16, 4))


def test_conditionals(hmm, table):
    assert table.log_prob(EVERY) == pytest.approx(hmm.log_prob(EVERY))
    exact = hmm.masked_conditional(EVERY)
    assert table.masked_conditional(EVERY).numpy() == pytest.approx(exact.numpy())
    exact = hmm.latent_posterior(EVERY)[:, 0]
    assert table.latent_posterior(EVERY).numpy() == pytest.approx(exact.numpy())


def test_entropies(hmm, table):
    joint = hmm.log_prob(EVERY).exp().view(4, 4, 4)
    for number in range(4):
        for positions in itertools.combinations(range(3), number):
            others = [t for t in range(3) if t not in positions]
            marginal = joint.sum(others) if others else joint
            exact = float(torch.special.entr(marginal).sum())
            assert table.entropy(positions) == pytest.approx(exact, abs=1e-12)


def test_sentences_are_drawn_from_the_table(table):
    tokens = table.sample(40_000, torch.Generator().manual_seed(0))
    number = tokens @ torch.tensor([16, 4, 1])
    p = table.log_prob(EVERY).exp()
    error = torch.bincount(number, minlength=64) / 40_000 - p
    assert (error.abs() < 5 * (p / 40_000) ** 0.5).all()


def test_impossible_sentences():
    language = Continuations(torch.tensor([[0], [2]]), torch.tensor([[[0.0, 1, 0], [1, 0, 0]]]))
    drawn = language.sample(100, torch.Generator().manual_seed(0))
    assert {tuple(row) for row in drawn.tolist()} == {(0, 1), (2, 0)}
    for impossible in ([1, 0], [0, 0]):
        with pytest.raises(ValueError, match="has probability 0 in this language"):
            language.masked_conditional(torch.tensor([impossible]))
    with pytest.raises(ValueError, match="sentences of 2 words"):
        language.log_prob(torch.tensor([[0, 1, 0]]))


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        (torch.zeros(1, 1, 2), "`joint` must hold finite numbers of at least 0, and not only"),
        (torch.tensor([[[1.0, -1.0]]]), "of at least 0"),
        (torch.tensor([[[1.0, torch.nan]]]), "finite"),
        (torch.ones(1, 2, 2), "`prefixes` must have a row for each column of `joint`"),
    ],
)
def test_a_table_that_is_not_one(joint, message):
    with pytest.raises(ValueError, match=message):
        Continuations(torch.tensor([[0]]), joint)


def test_frequent_words_are_those_of_the_exact_distribution():
    """The expected number of each word along all continuations, against samples of a model whose
    next word depends much on the one before.
    """
    model = small_llama()
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(6**0.5 if p.ndim > 1 else 1)
    reader = WordModel(model, WORDS, BOS)
    language, _ = enumerate_continuations(reader, TEXTS, 3, 16)
    times = torch.nn.functional.one_hot(EVERY, 4).sum(1).double()
    expected = language.log_prob(EVERY).exp() @ times
    for seed in range(8):
        drawn = torch.Generator().manual_seed(seed)
        order = frequent_continuation_words(reader, TEXTS, 4, 3, sentences=2000, generator=drawn)
        assert order.tolist() == expected.argsort(descending=True).tolist()
    with pytest.raises(ValueError, match="`words` must be at most 4, got 5"):
        frequent_continuation_words(reader, TEXTS, 5, 3, sentences=1, generator=drawn)


def test_wrong_calls(reader):
    with pytest.raises(ValueError, match="`texts` must hold tokens"):
        enumerate_continuations(reader, [[0], []], 3, 5)
    with pytest.raises(ValueError, match="`length` must be at least 2, got 1"):
        enumerate_continuations(reader, [[0]], 1, 5)
    long = r"`texts` must leave room for 3 words in the 16 positions of the model"
    with pytest.raises(ValueError, match=long):
        enumerate_continuations(reader, [[0] * 15], 3, 5)
    assert enumerate_continuations(reader, [[0] * 14], 3, 5)[1] > 0
