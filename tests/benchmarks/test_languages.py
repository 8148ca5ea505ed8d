"""All masked conditionals of a grammar against inside passes and torch-struct; posteriors of a
hidden Markov model against hmmlearn.
"""

import warnings

import hmmlearn.hmm
import numpy as np
import pytest
import torch

from ntpcompanion.languages.grammars import random_levelled_pcfg
from ntpcompanion.languages.hmm import random_block_hmm
from ntpcompanion.workflow.base.provenance import hardware, hardware_line
from tests.benchmarks.timing import seconds
from tests.threads import one_thread  # noqa: F401 (a fixture of all tests here)


@pytest.fixture(scope="module")
def grammar():
    return random_levelled_pcfg(np.random.default_rng(0))


@pytest.fixture(scope="module")
def sentences(grammar):
    """64 sentences of 32 words, the longest of the grammar of the paper's sizes: 50 symbols, 200
    words.
    """
    drawn = grammar.sample(20_000, torch.Generator().manual_seed(0))
    return drawn[(drawn >= 0).all(1)][:64]


@pytest.mark.benchmark
def test_conditionals_cost_a_few_inside_passes(grammar, sentences):
    assert sentences.shape == (64, 32)
    one_pass, all_at_once = seconds(
        lambda: grammar.log_prob(sentences),
        lambda: grammar.masked_conditional(sentences),
        repeats=5,
    )
    naive = 32 * grammar.vocab_size * one_pass  # a pass for every word in every position
    print(
        f"\ninside pass {one_pass:.3f} s, conditionals {all_at_once / one_pass:.2f} passes, "
        f"{naive / all_at_once:.0f} times the naive way"
    )
    print(hardware_line(hardware()))
    assert all_at_once <= 4 * one_pass
    assert naive >= 500 * all_at_once


@pytest.mark.benchmark
def test_torch_struct_is_slower_on_the_same_grammar(grammar, sentences):
    """Two sentences: it needs over a gigabyte for each. Its symbols yield pairs or words, not both:
    each of ours is two of its.
    """
    from torch_struct import SentCFG

    few, lowest = sentences[:2], -1e5
    rules = (
        torch.cat([torch.cat([grammar.binary, grammar.binary], 1)] * 2, 2)
        .log()
        .clamp_min(lowest)
        .expand(2, -1, -1, -1)
    )
    root = grammar.root.log().clamp_min(lowest).expand(2, -1)
    words = grammar.lexical.T[few].log().clamp_min(lowest)

    def theirs():
        own = words.clone().requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it declares no constraints on its arguments
            total = SentCFG((own, rules, root)).partition
        total.sum().backward()
        return total.detach()

    assert torch.allclose(theirs(), grammar.log_prob(few), rtol=1e-9)
    (ours,) = seconds(lambda: grammar.masked_conditional(few), repeats=3)
    (peer,) = seconds(theirs, repeats=1)
    print(
        f"\nours {ours:.3f} s, torch-struct {peer:.1f} s: {peer / ours:.0f} times; "
        f"{hardware_line(hardware())}"
    )
    assert peer >= ours


@pytest.mark.benchmark
@pytest.mark.parametrize("implementation", ["scaling", "log"])
def test_hmmlearn_is_slower_at_forward_and_backward(implementation):
    ours = random_block_hmm(np.random.default_rng(0))
    tokens = ours.sample(512, torch.Generator().manual_seed(0))
    peer = hmmlearn.hmm.CategoricalHMM(ours.num_states, implementation=implementation)
    peer.startprob_, peer.transmat_, peer.emissionprob_ = (
        ours.initial.numpy(),
        ours.transition.numpy(),
        ours.emission.numpy(),
    )
    flat, lengths = tokens.flatten()[:, None].numpy(), [16] * 512
    assert np.allclose(
        peer.predict_proba(flat, lengths),
        ours.latent_posterior(tokens).flatten(0, 1).numpy(),
        atol=1e-9,
    )
    mine, theirs = seconds(
        lambda: ours.latent_posterior(tokens), lambda: peer.predict_proba(flat, lengths), repeats=7
    )
    print(
        f"\nposteriors {mine:.3f} s, hmmlearn ({implementation}) {theirs / mine:.1f} times; "
        f"{hardware_line(hardware())}"
    )
    assert theirs >= mine
