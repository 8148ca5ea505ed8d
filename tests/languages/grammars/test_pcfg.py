import itertools
import math
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.languages.grammars.levelled_grammars import random_levelled_pcfg, span_labels
from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.language import (
    PADDING,
    exact_entropy_floor,
)
from tests.languages.padding import check_padding_changes_nothing
from tests.threads import one_thread  # noqa: F401 (a fixture of all tests here)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def small(seed, symbols, vocab, zeros=0.0, to_words=1.0):
    """A random recursive grammar with about this share of zeros in every table; every symbol has
    its first word.
    """
    draws = np.random.default_rng(seed)
    root = draws.exponential(size=symbols) * (draws.random(symbols) >= zeros)
    root[0] += root.sum() == 0
    rules = draws.exponential(size=(symbols, symbols**2 + vocab)) * (
        draws.random((symbols, symbols**2 + vocab)) >= zeros
    )
    rules[:, symbols**2] += 0.1
    rules[:, symbols**2 :] *= to_words
    rules /= rules.sum(1, keepdims=True)
    return PCFG(
        torch.tensor(root / root.sum()),
        torch.tensor(rules[:, : symbols**2].reshape((symbols,) * 3)),
        torch.tensor(rules[:, symbols**2 :]),
    )


def trees(symbols, first, last):
    """All labelled binary trees over words first … last − 1: (symbol, first, last) or (symbol,
    first, last, left, right).
    """
    for a in range(symbols):
        if last - first == 1:
            yield (a, first, last)
        for middle in range(first + 1, last):
            for left, right in itertools.product(
                trees(symbols, first, middle), trees(symbols, middle, last)
            ):
                yield (a, first, last, left, right)


all_trees = cache(lambda symbols, n: list(trees(symbols, 0, n)))


def nodes(tree):
    yield tree
    for child in tree[3:]:
        yield from nodes(child)


def rule_probability(grammar, node, sentence):
    a = node[0]
    return (
        float(grammar.binary[a, node[3][0], node[4][0]])
        if len(node) > 3
        else float(grammar.lexical[a, sentence[node[1]]])
    )


def parses(grammar, sentence):
    """The probability of every parse tree of a sentence: the definition."""
    return {
        tree: float(grammar.root[tree[0]])
        * math.prod(rule_probability(grammar, node, sentence) for node in nodes(tree))
        for tree in all_trees(grammar.num_symbols, len(sentence))
    }


@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from(
        [(1, 1, 1), (1, 2, 4), (2, 2, 1), (2, 2, 2), (2, 2, 3), (3, 2, 2), (2, 1, 4)]
    ),
    zeros=st.sampled_from([0.0, 0.5]),
)
def test_everything_equals_the_sum_over_parse_trees(seed, size, zeros):
    symbols, vocab, n = size
    grammar = small(seed, symbols, vocab, zeros)
    strings = list(itertools.product(range(vocab), repeat=n))
    forests = {string: parses(grammar, string) for string in strings}
    total = {string: math.fsum(forest.values()) for string, forest in forests.items()}
    assert grammar.log_prob(torch.tensor(strings)).exp().tolist() == pytest.approx(
        list(total.values()), rel=1e-9, abs=1e-15
    )
    assert float(grammar.length_distribution(n)[n - 1]) == pytest.approx(
        math.fsum(total.values()), rel=1e-9, abs=1e-15
    )
    possible = [string for string in strings if total[string] > 0]
    if not possible:
        return
    conditionals, posteriors = (
        grammar.masked_conditional(torch.tensor(possible)),
        grammar.latent_posterior(torch.tensor(possible)),
    )
    for string, conditional, posterior in zip(possible, conditionals, posteriors, strict=True):
        for t in range(n):
            filled = np.array([total[(*string[:t], v, *string[t + 1 :])] for v in range(vocab)])
            assert conditional[t].numpy() == pytest.approx(filled / filled.sum(), abs=1e-12)
        expected = np.zeros((n, n, symbols))
        for tree, probability in forests[string].items():
            for a, first, last, *_ in nodes(tree):
                expected[first, last - first - 1, a] += probability / total[string]
        assert posterior.numpy() == pytest.approx(expected, abs=1e-12)


def test_the_inside_chart_is_that_of_every_span_alone():
    grammar = small(4, 3, 3, zeros=0.3)
    sentence = [0, 2, 1, 0]
    chart = grammar.log_inside(torch.tensor([sentence]))[0]
    for i, j in itertools.combinations(range(5), 2):
        for a in range(3):
            alone = PCFG(torch.eye(3).double()[a], grammar.binary, grammar.lexical)
            assert float(chart[i, j - i - 1, a]) == pytest.approx(
                float(alone.log_prob(torch.tensor([sentence[i:j]]))), abs=1e-12
            )
    assert bool((chart[2, 2:] == -math.inf).all())


def test_a_padded_batch_equals_its_sentences_alone():
    posterior, lengths = check_padding_changes_nothing(small(1, 3, 4), atol=1e-13)
    for row, n in enumerate(lengths):
        assert float(posterior[row].sum()) == pytest.approx(2 * n - 1)


def test_frequencies_are_within_five_standard_errors():
    """A supercritical recursive grammar: the law of the samples is that of the language given at
    most 3 words.
    """
    grammar, n = small(3, 2, 2, to_words=0.3), 20000
    assert grammar.longest is None
    tokens = grammar.sample(n, generator(), max_length=3)
    strings = [
        list(s) + [PADDING] * (3 - k)
        for k in (1, 2, 3)
        for s in itertools.product(range(2), repeat=k)
    ]
    probability = grammar.log_prob(torch.tensor(strings)).exp()
    assert float(probability.sum()) == pytest.approx(float(grammar.length_distribution(3).sum()))
    assert float(probability.sum()) < 0.9
    probability = probability / probability.sum()
    seen = (tokens[:, None] == torch.tensor(strings)).all(-1).double().mean(0)
    assert float(seen.sum()) == pytest.approx(1)
    assert (
        (seen - probability).abs() <= 5 * (probability * (1 - probability) / n).sqrt() + 1e-12
    ).all()


def test_a_supercritical_grammar_loses_what_never_ends():
    """S → S S with probability 3/4: a derivation ends with probability (1/4) / (3/4)."""
    grammar = PCFG(torch.ones(1), torch.full((1, 1, 1), 0.75), torch.full((1, 1), 0.25))
    assert float(grammar.length_distribution(200).sum()) == pytest.approx(1 / 3, abs=1e-9)
    tokens = grammar.sample(2000, generator(), max_length=40)
    assert tokens.shape[0] == 2000
    assert tokens.shape[1] <= 40
    law = grammar.length_distribution(40)
    share = float(law[0] / law.sum())
    assert (
        abs(float(((tokens != PADDING).sum(1) == 1).double().mean()) - share)
        < 5 * (share * (1 - share) / 2000) ** 0.5
    )


@pytest.mark.parametrize(
    ("binary", "lexical", "longest"),
    [
        ({(0, 1, 1): 1.0}, {(1, 0): 1.0}, 2),
        ({(0, 1, 2): 0.5, (1, 2, 2): 1.0}, {(0, 0): 0.5, (2, 0): 1.0}, 3),
        ({(0, 1, 0): 0.5}, {(0, 0): 0.5, (1, 0): 1.0}, None),
        ({(0, 1, 2): 0.5, (1, 0, 2): 1.0}, {(0, 0): 0.5, (2, 0): 1.0}, None),
        ({(1, 1, 1): 0.5}, {(0, 0): 1.0, (1, 0): 0.5}, 1),  # the recursive symbol is never reached
        ({(0, 1, 1): 0.5, (1, 1, 1): 1.0}, {(0, 0): 0.5}, 1),  # it is reached, and never ends
        ({(0, 0, 0): 1.0}, {}, 0),
    ],
)
def test_the_longest_sentence(binary, lexical, longest):
    rules, words = torch.zeros(3, 3, 3).double(), torch.zeros(3, 1).double()
    for place, probability in binary.items():
        rules[place] = probability
    for place, probability in lexical.items():
        words[place] = probability
    words[:, 0] += 1 - words.sum(1) - rules.sum((1, 2))  # symbols without a rule
    assert PCFG(torch.tensor([1.0, 0, 0]), rules, words).longest == longest


def doubling(levels):
    """Symbol 0 → 1 1, 1 → 2 2, … and the last symbol is the word."""
    binary, lexical = torch.zeros((levels,) * 3).double(), torch.zeros(levels, 1).double()
    for a in range(levels - 1):
        binary[a, a + 1, a + 1] = 1
    lexical[-1] = 1
    return torch.eye(levels).double()[0], binary, lexical


def test_slow_recursion_beside_fast_growth_is_found():
    """0 yields 2^5 words, or a symbol that adds one word each time."""
    root, binary, lexical = doubling(7)
    assert PCFG(root, binary, lexical).longest == 64
    binary[0, 1, 1], binary[0, 1, 5] = 0.5, 0.5
    binary[5, 6, 6], binary[5, 5, 6] = 0.5, 0.5
    assert PCFG(root, binary, lexical).longest is None


def test_very_long_sentences_must_be_asked_for():
    with pytest.raises(ValueError, match="`max_length` is needed: sentences reach 2048 words"):
        PCFG(*doubling(12)).sample(1, generator())
    assert PCFG(*doubling(9)).sample(2, generator()).shape == (2, 256)


def test_the_generator_decides():
    grammar = random_levelled_pcfg(
        np.random.default_rng(1), symbols=8, vocab=9, depth=3, pairs=3, words=4
    )
    first, again, other = (grammar.sample(50, generator(seed)) for seed in (7, 7, 8))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.shape[1] <= 4
    assert len(grammar.sample(0, generator())) == 0


def test_the_floor_of_no_sentence_is_refused():
    grammar = PCFG(
        torch.tensor([1.0, 0.0]),
        torch.tensor([[[0.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]]),
        torch.tensor([[0.0], [1.0]]),
    )
    with pytest.raises(
        ValueError, match=r"`lengths` = \[1, 3\]: the language has no sentence of such a length"
    ):
        exact_entropy_floor(grammar, [1, 3])


def test_a_batch_may_be_empty():
    grammar, none = small(0, 2, 3), torch.zeros(0, 4, dtype=torch.int64)
    assert grammar.log_prob(none).shape == (0,)
    assert grammar.masked_conditional(none).shape == (0, 4, 3)
    assert grammar.latent_posterior(none).shape == (0, 4, 4, 2)
    assert span_labels(grammar, none, 2, "posterior").shape == (0,)


def test_an_impossible_sentence_has_log_prob_minus_infinity_and_no_conditional():
    grammar = PCFG(torch.ones(1), torch.full((1, 1, 1), 0.5), torch.tensor([[0.0, 0.5]]))
    tokens = torch.tensor([[1, 1, 1], [1, 0, PADDING]])
    assert grammar.log_prob(tokens)[1] == -math.inf
    assert grammar.log_prob(tokens)[0].isfinite()
    for ask in (grammar.masked_conditional, grammar.latent_posterior):
        with pytest.raises(
            ValueError, match=r"`tokens`: row 1, \[1, 0\], has probability 0 in this language"
        ):
            ask(tokens)


half = torch.full((1, 1, 1), 0.5)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"lexical": torch.tensor([[0.4]])},
            r"`binary` and `lexical` row 0 sums to 0\.9.*Divide each row by its sum",
        ),
        ({"binary": half * math.nan}, r"`binary` holds nan \(1 entries are not finite\)"),
    ],
)
def test_what_is_no_grammar_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        PCFG(**({"root": torch.ones(1), "binary": half, "lexical": torch.tensor([[0.5]])} | change))


def recursive():
    return PCFG(torch.ones(1), half, torch.tensor([[0.5]]))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda: recursive().sample(3, generator()),
            "`max_length` is needed: the grammar is recursive",
        ),
        (
            lambda: PCFG(torch.ones(1), half * 2, torch.zeros(1, 1)).sample(1, generator()),
            "`max_length`",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(ask, words):
    with pytest.raises(ValueError, match=words):
        ask()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_same():
    grammar = small(2, 3, 4)
    tokens = grammar.sample(20, generator(), max_length=12)
    assert torch.equal(grammar.sample(20, generator(), "cuda", max_length=12).cpu(), tokens)
    assert torch.allclose(
        grammar.masked_conditional(tokens.cuda()).cpu(),
        grammar.masked_conditional(tokens),
        atol=1e-12,
    )
