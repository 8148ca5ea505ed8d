"""Beginnings of documents: the contexts that a decoder is asked to store, and what follows them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int, Integer
from scipy.special import entr

from ntpcompanion.checks import Is, Size, checked, need
from ntpcompanion.languages.text.prefixes import count_prefixes
from ntpcompanion.languages.text.segmentation import split_text
from ntpcompanion.validation import as_integer_array


@dataclass(frozen=True, eq=False)
class Beginnings:
    """The first T tokens of n documents. Each distinct prefix of 1, …, T − 1 tokens is a context.

    Fields
    ------
    tokens
        (n, T) in 0 … V − 1.
    document, length
        (N,) a document that begins with each context, and how many tokens the context has.
    joint
        (N, V) probability of a context and a next token, of sum one: how often they are seen
        together, or any other target.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.capacity import tabulate_beginnings
    >>> found = tabulate_beginnings(np.array([[0, 1], [0, 2], [1, 2]]))
    >>> found.num_contexts, found.vocab_size, round(found.entropy, 4)  # two thirds of log 2
    (2, 3, 0.4621)
    """

    tokens: Int[np.ndarray, "n T"]
    document: Int[np.ndarray, " N"]
    length: Int[np.ndarray, " N"]
    joint: Float[np.ndarray, "N V"]

    @property
    def num_contexts(self) -> int:
        """The number of contexts, N."""
        return len(self.joint)

    @property
    def vocab_size(self) -> int:
        """The number of words, V."""
        return self.joint.shape[1]

    @property
    def entropy(self) -> float:
        """The entropy lower bound in nats, which no model goes below."""
        return float(entr(self.joint).sum() - entr(self.joint.sum(axis=1)).sum())

    @checked
    def with_random_targets(self, rng: np.random.Generator) -> "Beginnings":
        """The same contexts with the same frequencies, and next-token distributions with full
        support, drawn from Dirichlet(1).

        Raises ValueError unless `rng` is a generator of NumPy.
        """
        targets = rng.dirichlet(np.ones(self.vocab_size), size=self.num_contexts)
        joint = self.joint.sum(axis=1, keepdims=True) * targets
        return Beginnings(self.tokens, self.document, self.length, joint)


@checked
def tabulate_beginnings(
    documents: Annotated[
        Integer[np.ndarray, "n T"],
        Is(lambda documents: np.shape(documents)[1] > 1, "have at least two columns"),
    ],
) -> Beginnings:
    """The contexts of documents that are given by their first tokens; the vocabulary is the set of
    the tokens that occur, as in the experiment of Madden, Fox and Thrampoulidis (2025).

    Parameters
    ----------
    documents
        (n, T) integers, T ≥ 2.

    Returns
    -------
    Beginnings
        with tokens numbered from 0, in their order.

    Raises
    ------
    ValueError
        not a matrix of integers with at least one row and two columns.

    Notes
    -----
    Cost O(n T² log n) and a dense table of N × V.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.capacity import tabulate_beginnings
    >>> found = tabulate_beginnings(np.array([[3, 5, 3], [3, 5, 5]]))
    >>> found.num_contexts, found.vocab_size, found.length.tolist()
    (2, 2, [1, 2])
    >>> round(found.entropy, 4)  # half of log 2: the second context leaves two tokens open
    0.3466
    """
    documents = as_integer_array("documents", documents)
    words, numbers = np.unique(documents, return_inverse=True)
    tokens = numbers.reshape(documents.shape)
    by_length = count_prefixes(tokens, len(words))[1:]  # without the empty prefix
    first = [np.unique(counts.context_of, return_index=True)[1] for counts in by_length]
    joint = np.vstack([counts.counts.toarray() for counts in by_length])
    return Beginnings(
        tokens,
        np.concatenate(first),
        np.repeat([counts.length for counts in by_length], [len(one) for one in first]),
        joint / joint.sum(),
    )


@checked
def paragraph_documents(
    content: str, num_documents: Size, num_tokens: Size, rng: np.random.Generator
) -> Int[np.ndarray, "n T"]:
    r"""The first words of random paragraphs of a text.

    Parameters
    ----------
    content
        the text; an empty line ends a paragraph.
    num_documents, num_tokens
        n paragraphs, drawn without replacement from those with at least T words; T.
    rng
        draws the paragraphs.

    Returns
    -------
    array
        (n, T) words as numbers, in the alphabetical order of the words that occur.

    Raises
    ------
    ValueError
        `content` is not text, numbers below 1, too few long paragraphs, no generator.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.capacity import paragraph_documents
    >>> text = "The cat sits here.\n\nThe dog sits.\n\nNo."
    >>> paragraph_documents(text, 2, 3, np.random.default_rng(0)).tolist()
    [[3, 0, 2], [3, 1, 2]]
    """
    n, T = num_documents, num_tokens
    split = (split_text(paragraph).tokens for paragraph in re.split(r"\n\s*\n", content))
    long = [words[:T] for words in split if len(words) >= T]
    if n > len(long):
        raise ValueError(
            f"`num_documents` must lie in 1 … {len(long)}, the paragraphs with {T} words or more, "
            f"got {n}."
        )
    return _numbered([long[i] for i in rng.choice(len(long), n, replace=False)])


def _numbered(documents: Sequence[Sequence[str]]) -> Int[np.ndarray, "n T"]:
    words = np.array(documents)
    return np.unique(words, return_inverse=True)[1].reshape(words.shape)


@checked(need("successors", "successors <= num_states", "be at most `num_states` = {num_states}"))
def markov_documents(
    num_documents: Size,
    num_tokens: Size,
    num_states: Size,
    successors: Size,
    rng: np.random.Generator,
) -> Int[np.ndarray, "n T"]:
    """Documents of a random Markov chain. The first token has Zipf's frequencies; each token has a
    few successors, drawn by the same frequencies, with probabilities from Dirichlet(1).

    Parameters
    ----------
    num_documents, num_tokens
        n and T.
    num_states
        how many tokens the chain has.
    successors
        of each token, at most `num_states`.
    rng
        draws the chain and the documents.

    Returns
    -------
    array
        (n, T) tokens in 0 … `num_states` − 1.

    Raises
    ------
    ValueError
        a number below 1, more successors than tokens, no generator.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.capacity import markov_documents
    >>> markov_documents(4, 3, 5, 1, np.random.default_rng(0)).shape
    (4, 3)
    """
    n, T, states, few = num_documents, num_tokens, num_states, successors
    zipf = 1 / np.arange(1, states + 1)
    zipf /= zipf.sum()
    following = np.array([rng.choice(states, few, replace=False, p=zipf) for _ in range(states)])
    upto = rng.dirichlet(np.ones(few), size=states).cumsum(axis=1)[:, :-1]
    tokens = np.empty((n, T), dtype=np.int64)
    tokens[:, 0] = rng.choice(states, n, p=zipf)
    for t in range(1, T):
        before = tokens[:, t - 1]
        chosen = (rng.random((n, 1)) > upto[before]).sum(axis=1)
        tokens[:, t] = following[before, chosen]
    return tokens
