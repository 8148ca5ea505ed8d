"""All masked conditionals of a grammar against inside passes and torch-struct; posteriors of a
hidden Markov model against hmmlearn.
"""

import hmmlearn.hmm
import numpy as np
import torch

from ntpcompanion.languages.grammars.levelled_grammars import random_levelled_pcfg
from ntpcompanion.languages.random_hmms import random_block_hmm
from tests.benchmarks.timing import about

PART = "Languages"


def grammar_and_sentences(count):
    """The grammar of the paper's sizes (50 symbols, 200 words) and sentences of 32 words, its
    longest.
    """
    grammar = random_levelled_pcfg(np.random.default_rng(0))
    drawn = grammar.sample(20_000, torch.Generator().manual_seed(0))
    sentences = drawn[(drawn >= 0).all(1)][:count]
    assert sentences.shape == (count, 32)
    return grammar, sentences


@about("All masked conditionals of 64 sentences of a grammar", PART)
def test_conditionals(timing):
    grammar, sentences = grammar_and_sentences(64)
    timing.pair(
        ("masked_conditional", lambda: grammar.masked_conditional(sentences)),
        ("one inside pass", lambda: grammar.log_prob(sentences)),
        at_least=0.25,
        note="A pass gives one probability of each sentence; ours 32 × 200 conditionals of each. "
        "A ratio of 1 would be the price of one pass.",
    )


@about("All masked conditionals of one sentence of a grammar", PART, busy=False)
def test_torch_struct(timing):
    from torch_struct import SentCFG

    grammar, few = grammar_and_sentences(1)
    lowest = -1e5
    rules = torch.cat([torch.cat([grammar.binary, grammar.binary], 1)] * 2, 2).log()
    rules = rules.clamp_min(lowest).expand(1, -1, -1, -1)
    root = grammar.root.log().clamp_min(lowest).expand(1, -1)
    words = grammar.lexical.T[few].log().clamp_min(lowest)

    def theirs():
        own = words.clone().requires_grad_()
        total = SentCFG((own, rules, root)).partition
        total.sum().backward()
        return total.detach()

    assert torch.allclose(theirs(), grammar.log_prob(few), rtol=1e-9)
    timing.pair(
        ("masked_conditional", lambda: grammar.masked_conditional(few)),
        ("torch-struct", theirs),
        at_least=1.0,
        least=1,
        budget=1.0,
        note="torch-struct needs over a gigabyte for each sentence; its symbols yield pairs or "
        "words, so each of ours is two of its.",
    )


def against_hmmlearn(timing, implementation):
    """Posteriors of the hidden states of 512 sentences of 16 words, equal to 1e-9."""
    ours = random_block_hmm(np.random.default_rng(0))
    tokens = ours.sample(512, torch.Generator().manual_seed(0))
    peer = hmmlearn.hmm.CategoricalHMM(ours.num_states, implementation=implementation)
    peer.startprob_, peer.transmat_, peer.emissionprob_ = (
        each.numpy() for each in (ours.initial, ours.transition, ours.emission)
    )
    flat, lengths = tokens.flatten()[:, None].numpy(), [16] * 512
    expected = ours.latent_posterior(tokens).flatten(0, 1).numpy()
    assert np.allclose(peer.predict_proba(flat, lengths), expected, atol=1e-9)
    timing.pair(
        ("latent_posterior", lambda: ours.latent_posterior(tokens)),
        (f"hmmlearn ({implementation})", lambda: peer.predict_proba(flat, lengths)),
        at_least=1.0,
    )


@about("Posteriors of a hidden Markov model, 512 sentences", PART)
def test_hmm_scaling(timing):
    against_hmmlearn(timing, "scaling")


@about("Posteriors of a hidden Markov model, 512 sentences, in logarithms", PART, busy=False)
def test_hmm_log(timing):
    against_hmmlearn(timing, "log")


@about("Posteriors of more sentences", PART, busy=False)
def test_hmm_growth(timing):
    language = random_block_hmm(np.random.default_rng(0))

    def prepared(n):
        tokens = language.sample(n, torch.Generator().manual_seed(0))
        return lambda: language.latent_posterior(tokens)

    timing.growth("sentences", [128, 512, 2048, 8192], prepared, ideal=1.0)
