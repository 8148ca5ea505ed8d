"""Distinct contexts of a text and how often each token follows them: exact, vectorized, sparse."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int, Integer
from scipy.sparse import csr_array

from ntpcompanion.validation import as_integer, as_integer_array, check_range, check_shape, require


@dataclass(frozen=True, eq=False)
class ContextCounts:
    """The m distinct contexts of one length t, seen at n positions of a text, and the tokens that
    follow them.

    Fields
    ------
    contexts
        (m, t) the tokens of each context, oldest first.
    counts
        (m, V) sparse; entry (j, z) is how often token z follows context j.
    context_of
        (n,) the context (row) at each predicted position.
    """

    contexts: Int[np.ndarray, "m t"]
    counts: csr_array
    context_of: Int[np.ndarray, " n"]

    @property
    def length(self) -> int:
        """Context length t."""
        return self.contexts.shape[1]

    @property
    def num_contexts(self) -> int:
        """Number m of distinct contexts."""
        return self.contexts.shape[0]

    @property
    def support_sizes(self) -> Int[np.ndarray, " m"]:
        """How many different tokens follow each context, S_j."""
        return np.diff(self.counts.indptr).astype(np.int64)

    @cached_property
    def frequency(self) -> Float[np.ndarray, " m"]:
        """The share π_j of the positions at which each context is seen."""
        return self.counts.sum(axis=1) / self.context_of.size

    @cached_property
    def distributions(self) -> csr_array:
        """The empirical next-token distribution of each context, p_j in row j; sparse, (m, V)."""
        totals = np.repeat(self.counts.sum(axis=1), self.support_sizes)
        return csr_array(
            (self.counts.data / totals, self.counts.indices, self.counts.indptr),
            shape=self.counts.shape,
        )

    @cached_property
    def entropy(self) -> float:
        """The least loss in nats of any model that sees t tokens of this text, H_t = −Σ_j π_j Σ_z
        p_jz log p_jz.
        """
        joint = self.counts.data / self.context_of.size
        # each term is ≤ 0; abs turns the −0.0 of an all one-hot text into 0
        return float(abs(joint @ np.log(self.distributions.data)))

    def share_one_hot(self, *, by_frequency: bool) -> float:
        """The share of contexts with a single successor (S_j = 1): of the m contexts, or weighted
        by their frequency π_j.
        """
        one_hot = self.support_sizes == 1
        return float(self.frequency[one_hot].sum() if by_frequency else one_hot.mean())


def count_contexts(
    tokens: Integer[np.ndarray, " N"], vocab_size: int, lengths: Sequence[int]
) -> list[ContextCounts]:
    """Count contexts of several lengths at the same positions of one text, so that the counts can
    be compared.

    The predicted positions are those with at least max(lengths) tokens before them, n = N −
    max(lengths) in number, for every length. A longer context then splits a shorter one and never
    mixes two: m_t cannot fall and H_t cannot rise with t. Length 0 is the empty context (a unigram
    distribution).

    Parameters
    ----------
    tokens
        (N,) integers in 0 … vocab_size − 1.
    vocab_size
        V, how many tokens there are.
    lengths
        the context lengths t ≥ 0, in any order.

    Returns
    -------
    list of ContextCounts
        One ContextCounts for each entry of `lengths`, in that order. Contexts are told apart by
        their tokens, never by a hash.

    Raises
    ------
    ValueError
        `lengths` empty or negative; `tokens` not a vector of integers in range, or too short for
        one prediction.

    Notes
    -----
    Cost: max(lengths) sorts of N integers in time, O(N · max(lengths)) in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.languages import count_contexts
    >>> text = np.array([0, 1, 2, 0, 1, 0, 1, 2])
    >>> unigram, bigram = count_contexts(text, vocab_size=3, lengths=[0, 1])
    >>> bigram.contexts.tolist()
    [[0], [1], [2]]
    >>> bigram.counts.toarray().tolist()  # after 0 comes 1, three times
    [[0, 3, 0], [1, 0, 2], [1, 0, 0]]
    >>> round(unigram.entropy, 4), round(bigram.entropy, 4)  # the least losses, in nats
    (1.079, 0.2728)

    With embeddings, such as the hidden states of a model, counts become a `ContextTable` of
    `ntpcompanion.linear`; an example stands there.
    """
    lengths = as_integer_array("lengths", lengths).ravel().tolist()
    fits = lengths and min(lengths) >= 0
    require(fits, f"`lengths` must hold at least one length, each 0 or more, got {lengths}.")
    longest = max(lengths)
    tokens = _checked_tokens(tokens, vocab_size, longest)
    following = tokens[longest:]
    ids, first = np.zeros(following.size, dtype=np.int64), np.zeros(1, dtype=np.int64)
    by_length = {}
    for length in range(longest + 1):
        if length:
            ids, first = refine(ids, tokens[longest - length : tokens.size - length], vocab_size)
        if length in lengths:
            contexts = tokens[(first + longest - length)[:, None] + np.arange(length)]
            by_length[length] = ContextCounts(
                contexts, tally(ids, following, (first.size, vocab_size)), ids
            )
    return [by_length[length] for length in lengths]


def refine(
    ids: Int[np.ndarray, " n"], tokens: Integer[np.ndarray, " n"], vocab_size: int
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " m"]]:
    """Number the distinct pairs (id, token), contexts one token longer, in lexicographic order from
    0: the number at each of the n positions, and where each of the m pairs first occurs.

    A pair is packed as id · vocab_size + token, which fits 64 bits for any text that fits memory.
    """
    _, first, numbers = np.unique(
        ids * np.int64(vocab_size) + tokens, return_index=True, return_inverse=True
    )
    return numbers, first


def tally(
    ids: Int[np.ndarray, " n"], following: Integer[np.ndarray, " n"], shape: tuple[int, int]
) -> csr_array:
    """How often each token follows each context: counts of the pairs (id, token), sparse, of the
    given shape (m, V).
    """
    counts = csr_array((np.ones(ids.size, dtype=np.int64), (ids, following)), shape=shape)
    counts.sum_duplicates()
    return counts


def _checked_tokens(
    tokens: Integer[np.ndarray, " N"], vocab_size: int, longest: int
) -> Int[np.ndarray, " N"]:
    as_integer("vocab_size", vocab_size, 1)
    tokens = as_integer_array("tokens", tokens)
    check_shape("tokens", tokens.shape, (None,))
    fewest = f"{longest + 1} entries for context length {longest}"
    require(tokens.size > longest, f"`tokens` must have at least {fewest}, got {tokens.size}.")
    check_range("tokens", tokens, 0, vocab_size - 1)
    return tokens
