"""Training on whole sequences, one loss per prefix, written as one table of contexts (Thrampoulidis
2024, appendix C).
"""

from typing import Annotated

import numpy as np
from jaxtyping import Float, Integer
from scipy.sparse import csr_array, vstack

from ntpcompanion.checks import Is, Range, Size, checked
from ntpcompanion.languages.text.counting import refine, tally
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.validation import as_array, as_integer_array

# Equal prefixes go through equal arithmetic; batched matrix products may still round differently
# from row to row.
STATE_TOLERANCE = 1e-9
TOKENS = Range(0, "vocab_size - 1")


@checked
def recurrent_states(
    tokens: Annotated[Integer[np.ndarray, "n T"], TOKENS],
    vocab_size: Size,
    dim: Size,
    rng: np.random.Generator,
) -> Float[np.ndarray, "n T d"]:
    """Embeddings of all prefixes by a fixed random recurrence, h_t = tanh(A h_{t−1} + b_{z_t}), h_0
    = 0: a small causal model.

    Entries of b are N(0, 1) and of A are N(0, 1/d). State t depends on the first t tokens only.
    Raises ValueError unless `tokens` is a matrix of integers in 0 … vocab_size − 1, `dim` at least
    1, and `rng` a generator. Cost O(n T d²).

    Parameters
    ----------
    tokens
        (n, T), each in 0 … vocab_size − 1.
    vocab_size
        how many tokens there are.
    dim
        d, the length of a state.
    rng
        draws A and b.

    Returns
    -------
    (n, T, d) array
        entry (i, t − 1) is the state after the first t tokens of row i.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import recurrent_states
    >>> tokens = np.array([[0, 1], [0, 2]])
    >>> states = recurrent_states(tokens, vocab_size=3, dim=4, rng=np.random.default_rng(0))
    >>> states.shape
    (2, 2, 4)
    >>> bool((states[0, 0] == states[1, 0]).all())  # equal prefixes, equal states
    True
    """
    tokens = as_integer_array("tokens", tokens)
    mix = rng.standard_normal((dim, dim)) / np.sqrt(dim)
    token_vectors = rng.standard_normal((vocab_size, dim))
    states = np.empty((*tokens.shape, dim))
    state = np.zeros((tokens.shape[0], dim))
    for t in range(tokens.shape[1]):
        state = np.tanh(state @ mix.T + token_vectors[tokens[:, t]])
        states[:, t] = state
    return states


@checked
def flatten_sequences(
    sequences: Annotated[
        Integer[np.ndarray, "n tokens"],
        TOKENS,
        Is(lambda rows: np.shape(rows)[1] > 1, "hold at least 2 tokens a row"),
    ],
    states: Float[np.ndarray, "n tokens-1 d"],
    vocab_size: Size,
) -> ContextTable:
    """One context for each (length t, distinct prefix of t tokens), t = 1 … T, with weight count /
    (n T).

    The table's cross-entropy at W is the average over sequences and positions of −log softmax(W
    h_t)[z_{t+1}].

    Parameters
    ----------
    sequences
        (n, T + 1) tokens in 0 … vocab_size − 1.
    states
        (n, T, d); `states[i, t − 1]` is the embedding of the first t tokens of sequence i.
    vocab_size
        how many tokens there are.

    Returns
    -------
    ContextTable
        A sparse table, contexts ordered by length.

    Raises
    ------
    ValueError
        shapes that do not agree, tokens out of range, equal prefixes with states that differ by
        more than 1e-9 (1 + the largest entry) (a model that sees more than the prefix), or
        sequences in which every token follows every prefix.

    Notes
    -----
    Cost O(n T (d + log n)).

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import flatten_sequences, recurrent_states
    >>> sequences = np.array([[0, 1, 2], [0, 1, 0], [0, 2, 2]])
    >>> states = recurrent_states(sequences[:, :-1], 3, 4, np.random.default_rng(0))
    >>> table = flatten_sequences(sequences, states, vocab_size=3)
    >>> table.weight.round(4).tolist()  # contexts 0; 0 1; 0 2
    [0.5, 0.3333, 0.1667]
    >>> table.next_token.toarray().round(4).tolist()
    [[0.0, 0.6667, 0.3333], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]
    """
    sequences, states = as_integer_array("sequences", sequences), as_array("states", states)
    n, positions = sequences.shape[0], sequences.shape[1] - 1
    ids, embeddings, counts = np.zeros(n, dtype=np.int64), [], []
    for t in range(positions):
        ids, first = refine(ids, sequences[:, t], vocab_size)
        if np.abs(states[:, t] - states[first[ids], t]).max() > STATE_TOLERANCE * (
            1 + np.abs(states[:, t]).max()
        ):
            raise ValueError(
                f"`states` differ between equal prefixes of length {t + 1}. The embedding of a "
                "prefix may depend on its tokens only."
            )
        embeddings.append(states[first, t])
        counts.append(tally(ids, sequences[:, t + 1], (first.size, vocab_size)))
    return _table(np.concatenate(embeddings), csr_array(vstack(counts, format="csr")))


def _table(embeddings: Float[np.ndarray, "m d"], counts: csr_array) -> ContextTable:
    totals = counts.sum(axis=1)
    distributions = csr_array(
        (counts.data / np.repeat(totals, np.diff(counts.indptr)), counts.indices, counts.indptr),
        shape=counts.shape,
    )
    return ContextTable(embeddings, distributions, totals / totals.sum())
