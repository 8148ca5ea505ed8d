"""Contexts in words, to be looked at."""

from collections.abc import Sequence

import numpy as np

from ntpcompanion.checks import Size, checked, need
from ntpcompanion.languages.text.counting import ContextCounts


@checked(
    need("vocabulary", "len(vocabulary) >= counts.counts.shape[1]", "hold a word for each token")
)
def frequent_contexts(
    counts: ContextCounts, vocabulary: Sequence[str], rows: Size, successors: Size = 3
) -> list[dict[str, object]]:
    """The `rows` most frequent contexts, as rows of a table: words, times seen, S_j, likeliest
    successors with their probability.

    Ties go to the smaller row. Raises ValueError if `rows` or `successors` is below 1, or if
    `vocabulary` lacks a word.

    Parameters
    ----------
    counts
        the contexts of one length.
    vocabulary
        the word of each token.
    rows
        how many contexts.
    successors
        how many successors of each.

    Returns
    -------
    list of dict
        one for each row of the table, ready for a DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.languages import count_contexts, frequent_contexts
    >>> (counts,) = count_contexts(np.array([0, 1, 2, 0, 1, 0, 1, 2]), vocab_size=3, lengths=[1])
    >>> frequent_contexts(counts, ["a", "b", "c"], rows=1, successors=2)
    [{'context': 'a', 'times seen': 3, 'successors': 1, 'likeliest': 'b 1.00'}]
    """
    order = np.argsort(-counts.frequency, kind="stable")[:rows]
    return [_row(counts, vocabulary, int(j), successors) for j in order]


def _row(
    counts: ContextCounts, vocabulary: Sequence[str], j: int, successors: int
) -> dict[str, object]:
    distribution = counts.distributions[[j]]
    likeliest = np.argsort(-distribution.data, kind="stable")[:successors]
    followed = ", ".join(
        f"{vocabulary[distribution.indices[i]]} {distribution.data[i]:.2f}" for i in likeliest
    )
    return {
        "context": " ".join(vocabulary[token] for token in counts.contexts[j]),
        "times seen": int(counts.counts[[j]].sum()),
        "successors": int(counts.support_sizes[j]),
        "likeliest": followed,
    }
