import gc
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntpcompanion.languages.text.counting import count_contexts
from ntpcompanion.languages.text.passages import passage_with_repeat


def by_search(tokens, length, size, skipped):
    """Straight from the definition: (unknown tokens, start) of the best passage."""
    found = []
    for start in range(skipped, len(tokens) - size + 1):
        part = tokens[start : start + size]
        followed = {}
        for k in range(length, size):
            followed.setdefault(tuple(part[k - length : k]), set()).add(part[k])
        if max(map(len, followed.values())) > 1:
            found.append((part.count(0), start))
    return min(found)


@pytest.mark.parametrize("lengths", [[1], [2], [2, 3]])
def test_the_passage_has_the_fewest_unknown_tokens_of_those_with_a_repeat(lengths, rng):
    tokens = rng.integers(0, 6, 400)
    counts = count_contexts(tokens, 6, lengths)[0]
    passage = passage_with_repeat(counts, tokens, 12)
    length, skipped = lengths[0], lengths[-1] - lengths[0]
    assert passage.start == by_search(tokens.tolist(), length, 12, skipped)[1]
    part = tokens[passage.start : passage.start + 12].tolist()
    windows = [tuple(part[k : k + length]) for k in range(12 - length)]
    first = tuple(counts.contexts[passage.contexts[0]].tolist())
    after = {part[k + length] for k, window in enumerate(windows) if window == first}
    assert len(after) > 1
    rest = [tuple(row) for row in counts.contexts[passage.contexts[1:]].tolist()]
    assert rest == [window for window in dict.fromkeys(windows) if window != first]


@given(st.lists(st.integers(0, 3), min_size=8, max_size=60), st.integers(0, 2), st.integers(0, 8))
def test_the_passage_is_the_best_of_any_text(tokens, length, size):
    size = min(length + 1 + size, len(tokens))
    counts = count_contexts(np.array(tokens), 4, [length])[0]
    try:
        wanted = by_search(tokens, length, size, 0)[1]
    except ValueError:  # of an empty list: the first with the fewest unknown tokens
        wanted = min(range(len(tokens) - size + 1), key=lambda k: tokens[k : k + size].count(0))
    assert passage_with_repeat(counts, np.array(tokens), size).start == wanted


def test_a_long_periodic_text_takes_no_more_calls_than_a_short_one():
    """Such a text has no context with two next tokens: every passage is looked at in vain."""

    def calls(repeats):
        tokens = np.tile(np.arange(1, 11), repeats)
        counts, events = count_contexts(tokens, 11, [2])[0], []
        gc.disable()  # its callbacks, which Hypothesis adds, would be counted
        sys.setprofile(lambda frame, event, argument: events.append(event))
        try:
            passage_with_repeat(counts, tokens, 12)
        finally:
            sys.setprofile(None)
            gc.enable()
        return len(events)

    calls(10)
    assert calls(2000) == calls(10)


def test_a_text_without_a_repeat_gives_its_first_passage():
    tokens = np.array([0, 1, 2, 3, 4, 5])
    counts = count_contexts(tokens, 6, [1])[0]
    start, contexts = passage_with_repeat(counts, tokens, 3)
    assert start == 1
    assert counts.contexts[contexts].ravel().tolist() == [1, 2]


@pytest.mark.parametrize("size", [1, 7])
def test_a_passage_that_does_not_fit_is_an_error(size):
    tokens = np.arange(6)
    counts = count_contexts(tokens, 6, [1])[0]
    with pytest.raises(ValueError, match=rf"`size` must lie in 2 … 6 .*got {size}"):
        passage_with_repeat(counts, tokens, size)
