import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.languages.text.counting import count_contexts
from ntpcompanion.languages.text.prefixes import count_prefixes
from tests.oracles import conditional_entropy

VOCAB = 3
sets_of_sequences = st.integers(1, 5).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, VOCAB - 1), min_size=size, max_size=size), min_size=1, max_size=20
    )
)


def dictionary(sequences, length):
    seen = {}
    for row in sequences:
        seen.setdefault(tuple(row[:length]), Counter())[row[length]] += 1
    return seen


def entropy(items):
    counts = Counter(items)
    return -math.fsum(n * math.log(n / len(items)) for n in counts.values()) / len(items)


@given(sets_of_sequences)
def test_counts_equal_a_dictionary(sequences):
    counts = count_prefixes(np.array(sequences), VOCAB)
    assert [count.length for count in counts] == list(range(len(sequences[0])))
    for count in counts:
        expected = dictionary(sequences, count.length)
        rows = zip(count.contexts.tolist(), count.counts.toarray().tolist(), strict=True)
        assert {tuple(c): {z: n for z, n in enumerate(row) if n} for c, row in rows} == expected
        assert count.entropy == pytest.approx(conditional_entropy(expected), abs=1e-13)
        assert [count.contexts[j].tolist() for j in count.context_of] == [
            row[: count.length] for row in sequences
        ]


@given(sets_of_sequences)
def test_floors_add_up_to_the_entropy_of_a_sequence_and_prefixes_grow(sequences):
    counts = count_prefixes(np.array(sequences), VOCAB)
    whole = entropy([tuple(row) for row in sequences])
    assert sum(count.entropy for count in counts) == pytest.approx(whole, abs=1e-12)
    assert all(a.num_contexts <= b.num_contexts for a, b in pairwise(counts))


@given(st.lists(st.integers(0, VOCAB - 1), min_size=1, max_size=30), st.integers(1, 5))
def test_floors_of_all_windows_of_a_circular_text_fall(text, width):
    windows = np.stack([np.roll(text, -shift) for shift in range(width)], axis=1)
    floors = [count.entropy for count in count_prefixes(windows, VOCAB)]
    assert all(a >= b - 1e-13 for a, b in pairwise(floors))


def test_a_later_token_may_be_harder():
    """{abc, abd}: the floors of prefixes rise, those of windows before the last token do not."""
    sequences = np.array([[0, 1, 2], [0, 1, 3]])
    prefixes = [count.entropy for count in count_prefixes(sequences, 4)]
    assert prefixes == pytest.approx([0, 0, math.log(2)])
    last = [dictionary(np.roll(sequences, t - 2, axis=1).tolist(), t) for t in range(3)]
    assert [conditional_entropy(seen) for seen in last] == pytest.approx([math.log(2)] * 3)


def test_windows_of_their_own_positions_may_rise_as_well():
    """a b c a b d: dropping one position per token of context raises the floor from 2/5 log 2."""
    text = np.array([0, 1, 2, 0, 1, 3])
    own = [count_contexts(text, 4, [t])[0].entropy for t in (1, 2)]
    assert own == pytest.approx([2 / 5 * math.log(2), 2 / 4 * math.log(2)])


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize("shape", [(3,), (0, 2), (2, 0)])
def test_what_is_no_set_of_sequences_is_refused(shape):
    with pytest.raises(ValueError, match="`sequences`"):
        count_prefixes(np.zeros(shape, dtype=int), 2)


@pytest.mark.parametrize("token", [-1, 3])
def test_tokens_out_of_range_are_refused(token):
    with pytest.raises(ValueError, match="`sequences`"):
        count_prefixes(np.array([[0, token]]), 3)
