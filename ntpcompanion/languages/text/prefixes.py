"""The distinct prefixes of sequences of one length, and the tokens that follow them."""

import numpy as np
from jaxtyping import Integer

from ntpcompanion.languages.text.counting import ContextCounts, refine, tally
from ntpcompanion.validation import as_integer, as_integer_array, check_range, check_shape


def count_prefixes(
    sequences: Integer[np.ndarray, "n T_plus_1"], vocab_size: int
) -> list[ContextCounts]:
    """Count the prefixes of t = 0, …, T tokens of n sequences, and the token after each: the
    contexts of an autoregressive model, an entry of the list for each t. `context_of` is the prefix
    of each sequence.

    Here t is also the position of the prediction: the prefix of t tokens predicts token t + 1. So
    two lengths predict different tokens, unlike in `count_contexts`, and H_t may rise with t; m_t
    cannot fall. The entropies, in nats, add up to the entropy of a whole sequence. T sorts of n
    integers, and memory O(n T²).

    Raises `ValueError` unless `sequences` is a matrix of integers in 0 … vocab_size − 1 with at
    least one row and one column.
    """
    sequences = _checked_sequences(sequences, as_integer("vocab_size", vocab_size, 1))
    ids, first = np.zeros(len(sequences), dtype=np.int64), np.zeros(1, dtype=np.int64)
    tables = []
    for length, following in enumerate(sequences.T):
        if length:
            ids, first = refine(ids, sequences[:, length - 1], vocab_size)
        counts = tally(ids, following, (first.size, vocab_size))
        tables.append(ContextCounts(sequences[first, :length], counts, ids))
    return tables


def _checked_sequences(
    sequences: Integer[np.ndarray, "n T_plus_1"], vocab_size: int
) -> Integer[np.ndarray, "n T_plus_1"]:
    sequences = as_integer_array("sequences", sequences)
    check_shape("sequences", sequences.shape, (None, None))
    check_range("sequences", sequences, 0, vocab_size - 1)
    return sequences
