"""A short passage of a text in which one context occurs twice, with different next tokens."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int, Integer

from ntpcompanion.languages.counting import ContextCounts


class Passage(NamedTuple):
    """Where a passage stands, and the contexts in it.

    Fields
    ------
    start
        the position of its first token in the text.
    contexts
        its distinct contexts as rows of the counts, in the order in which they occur; first the one
        that occurs twice, if there is one.
    """

    start: int
    contexts: Int[np.ndarray, " k"]


def passage_with_repeat(
    counts: ContextCounts, tokens: Integer[np.ndarray, " N"], size: int
) -> Passage:
    """The passage of `size` tokens with the fewest unknown ones in which some context occurs twice
    and is followed by two different tokens.

    Of equally good passages the first. If the text has no such passage: the first with the fewest
    unknown tokens. Cost O(N log N + N · size) at worst.

    Parameters
    ----------
    counts
        the contexts of one length of the text.
    tokens
        (N,) the text; 0 is the unknown token.
    size
        how many tokens, contexts included; more than the length of a context and at most as many as
        the predicted positions and one context have.

    Returns
    -------
    Passage
        its start and its contexts.

    Raises
    ------
    ValueError
        `size` out of this range.
    """
    before = tokens.size - counts.context_of.size - counts.length  # tokens that are not counted
    most = tokens.size - before
    if not counts.length < size <= most:
        raise ValueError(
            f"`size` must lie in {counts.length + 1} … {most} for this text, got {size}."
        )
    read, predicted = tokens[before:], size - counts.length
    unknown = np.convolve(read == 0, np.ones(size, dtype=int), "valid")
    order = np.argsort(unknown, kind="stable")
    for start in order.tolist():
        inside = counts.context_of[start : start + predicted]
        following = read[start + counts.length : start + size]
        pairs = np.unique(np.stack([inside, following]), axis=1)[0]
        twice = inside[np.isin(inside, pairs[:-1][np.diff(pairs) == 0])]
        if twice.size:
            return Passage(before + start, _distinct(np.concatenate([twice[:1], inside])))
    start = int(order[0])
    return Passage(before + start, _distinct(counts.context_of[start : start + predicted]))


def _distinct(ids: Int[np.ndarray, " n"]) -> Int[np.ndarray, " k"]:
    """Each value once, in the order of first occurrence."""
    values, first = np.unique(ids, return_index=True)
    return values[np.argsort(first)]
