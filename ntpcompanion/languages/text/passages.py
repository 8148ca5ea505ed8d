"""A short passage of a text in which one context occurs twice, with different next tokens."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int, Integer

from ntpcompanion.languages.text.counting import ContextCounts
from ntpcompanion.validation import as_integer


class Passage(NamedTuple):
    """The position in the text of the first token of a passage, and its distinct contexts as rows
    of the counts, in the order in which they occur; first the one that occurs twice, if there is
    one.
    """

    start: int
    contexts: Int[np.ndarray, " k"]


def passage_with_repeat(
    counts: ContextCounts, tokens: Integer[np.ndarray, " N"], size: int
) -> Passage:
    """The passage of `size` tokens, contexts included, with the fewest unknown ones (0) in which
    some context occurs twice and is followed by two different tokens.

    Of equally good passages the first. If the text has no such passage: the first with the fewest
    unknown tokens. Cost: one sort of the positions by context, and O(N). Raises `ValueError` unless
    `size` is more than the length of a context, and at most the predicted positions and one
    context.
    """
    before = tokens.size - counts.context_of.size - counts.length  # tokens that are not counted
    maximum = tokens.size - before
    as_integer("size", size, counts.length + 1, maximum, "for this text")
    read, predicted = tokens[before:], size - counts.length
    seen = np.append(0, np.cumsum(read == 0))
    unknown = seen[size:] - seen[:-size]  # of the passage from each position on
    following = read[counts.length :]
    latest = np.maximum.accumulate(_branches(counts.context_of, following))
    starts = np.arange(unknown.size)
    repeats = np.flatnonzero(latest[predicted - 1 :] >= starts)
    among = repeats if repeats.size else starts
    start = int(among[unknown[among].argmin()])
    inside = counts.context_of[start : start + predicted]
    if repeats.size:
        pairs = np.unique(np.stack([inside, following[start : start + predicted]]), axis=1)[0]
        twice = inside[np.isin(inside, pairs[:-1][np.diff(pairs) == 0])]
        inside = np.concatenate([twice[:1], inside])
    return Passage(before + start, _distinct(inside))


def _branches(
    contexts: Int[np.ndarray, " n"], following: Integer[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """For each position the latest one before it with the same context and another next token; −1
    if there is none.
    """
    order = np.argsort(contexts, kind="stable")
    context, token, place = contexts[order], following[order], np.arange(order.size)
    new = np.append(True, np.diff(context) != 0)
    begins = np.maximum.accumulate(np.where(new | np.append(True, np.diff(token) != 0), place, 0))
    branches = np.empty_like(order)
    # the one before a run of equal pairs has another token, unless it belongs to another context
    branches[order] = np.where(new[begins], -1, order[begins - 1])
    return branches


def _distinct(ids: Int[np.ndarray, " n"]) -> Int[np.ndarray, " k"]:
    """Each value once, in the order of first occurrence."""
    values, first = np.unique(ids, return_index=True)
    return values[np.argsort(first)]
