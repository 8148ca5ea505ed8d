from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.languages.text.counting import count_contexts, refine
from tests.oracles import conditional_entropy, loss_of_short_memory, successors

texts = st.integers(1, 4).flatmap(
    lambda vocab: st.tuples(
        st.just(vocab), st.lists(st.integers(0, vocab - 1), min_size=5, max_size=40)
    )
)


def as_dictionary(counts):
    rows = zip(counts.contexts.tolist(), counts.counts.toarray().tolist(), strict=True)
    return {tuple(context): {z: n for z, n in enumerate(row) if n} for context, row in rows}


@given(texts, st.lists(st.integers(0, 4), min_size=1, max_size=4))
def test_counts_equal_a_dictionary(text, lengths):
    vocab, tokens = text
    for length, counts in zip(
        lengths, count_contexts(np.array(tokens), vocab, lengths), strict=True
    ):
        expected = successors(tokens, length, max(lengths))
        assert counts.length == length
        assert as_dictionary(counts) == {
            context: dict(counter) for context, counter in expected.items()
        }
        assert counts.entropy == pytest.approx(conditional_entropy(expected), abs=1e-13)
        assert [tuple(counts.contexts[j]) for j in counts.context_of] == [
            tuple(tokens[i - length : i]) for i in range(max(lengths), len(tokens))
        ]


@given(texts)
def test_distributions_frequencies_and_shares_follow_from_the_counts(text):
    vocab, tokens = text
    counts = count_contexts(np.array(tokens), vocab, [2])[0]
    dense = counts.counts.toarray()
    assert np.allclose(
        counts.distributions.toarray(), dense / dense.sum(axis=1, keepdims=True), atol=1e-15
    )
    assert np.allclose(counts.frequency, dense.sum(axis=1) / dense.sum())
    assert counts.support_sizes.tolist() == (dense > 0).sum(axis=1).tolist()
    one_hot = (dense > 0).sum(axis=1) == 1
    assert counts.share_one_hot(by_frequency=False) == pytest.approx(one_hot.mean())
    assert counts.share_one_hot(by_frequency=True) == pytest.approx(
        dense[one_hot].sum() / dense.sum()
    )


@given(texts)
def test_contexts_grow_and_the_floor_falls_with_the_length(text):
    vocab, tokens = text
    counts = count_contexts(np.array(tokens), vocab, range(5))
    assert all(a.num_contexts <= b.num_contexts for a, b in pairwise(counts))
    assert all(a.entropy >= b.entropy - 1e-14 for a, b in pairwise(counts))


@pytest.mark.parametrize("memory", [0, 1, 2])
def test_a_model_of_short_memory_has_the_floor_of_its_own_length_as_loss(memory, rng):
    tokens = rng.integers(0, 3, 60)
    counts = count_contexts(tokens, 3, [memory, 3])[0]
    assert counts.entropy == pytest.approx(
        loss_of_short_memory(tokens.tolist(), memory, 3), abs=1e-13
    )


def test_a_text_of_one_repeated_token_has_floor_zero():
    assert str(count_contexts(np.zeros(9, dtype=int), 2, [1])[0].entropy) == "0.0"


def test_large_vocabularies_do_not_collide():
    vocab = 2**31
    tokens = np.array([0, 1, 2**31 - 1, 0, 1, 2**31 - 1, 5, 0])
    assert as_small(count_contexts(tokens, vocab, [3])[0]) == {
        (0, 1, 2**31 - 1): 2,
        (1, 2**31 - 1, 0): 1,
        (2**31 - 1, 0, 1): 1,
        (1, 2**31 - 1, 5): 1,
    }


def as_small(counts):
    return dict(
        zip(map(tuple, counts.contexts.tolist()), counts.counts.sum(axis=1).tolist(), strict=True)
    )


def test_refine_numbers_pairs_in_order_and_says_where_they_occur_first():
    numbers, first = refine(np.array([1, 0, 1, 1]), np.array([0, 1, 1, 0]), 2)
    assert numbers.tolist() == [1, 0, 2, 1]
    assert first.tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("tokens", "lengths", "words"),
    [
        ([0, 1], [], "`lengths`"),
        ([0, 1], [1, -1], r"`lengths` must hold .* got \[1, -1\]"),
        ([0, 1], [2], "`tokens`"),
        ([0, 3], [1], "`tokens`"),
        ([-1, 1], [1], "`tokens`"),
    ],
)
def test_what_cannot_be_counted_is_refused(tokens, lengths, words):
    with pytest.raises(ValueError, match=words):
        count_contexts(np.array(tokens), 3, lengths)
