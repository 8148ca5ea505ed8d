"""From a text to integers: words, and a vocabulary of the most frequent ones."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from ntpcompanion.languages.corpus import Text
from ntpcompanion.validation import as_integer, check_instance, described

UNKNOWN = "<unk>"
_WORD = re.compile(r"\w+(?:['’]\w+)*")


def split_words(text: str) -> list[str]:
    """The words of a text, in order and in lower case.

    A word is a run of letters, digits and underscores, with apostrophes inside it ("doesn't" is one
    word). Everything else separates. Raises ValueError for what is no text.

    Parameters
    ----------
    text
        any text.

    Returns
    -------
    list of str
        the words.

    Examples
    --------
    >>> from ntpcompanion.languages import split_words
    >>> split_words("The cat doesn't sit; the dog sits.")
    ['the', 'cat', "doesn't", 'sit', 'the', 'dog', 'sits']
    """
    check_instance("text", text, str)
    return _WORD.findall(text.lower())


def first_words(text: Text, num_words: int) -> list[str]:
    """The first `num_words` words of a text, as `split_words` finds them.

    Raises
    ------
    ValueError
        `num_words` below 1 or beyond the text.
    """
    words = split_words(text.content)
    if not 0 < num_words <= len(words):
        raise ValueError(
            f"`num_words` must lie in 1 … {len(words)}, the words of {text.source}, got "
            f"{num_words}."
        )
    return words[:num_words]


@dataclass(frozen=True, eq=False)
class Encoding:
    """A text as integers.

    Fields
    ------
    tokens
        (N,) the number of each word of the text; 0 is the unknown token.
    vocabulary
        the V words by number; `vocabulary[0]` is "<unk>", then the kept words from the most
        frequent on.
    """

    tokens: Int[np.ndarray, " N"]
    vocabulary: tuple[str, ...]

    @property
    def share_unknown(self) -> float:
        """The share of the text that became the unknown token."""
        return float(np.mean(self.tokens == 0))


def encode(words: Sequence[str], vocab_size: int) -> Encoding:
    """Number the words: the `vocab_size` − 1 most frequent ones keep their own token, all others
    share the unknown token 0.

    Equally frequent words are taken in alphabetical order, so that the encoding depends on the
    words only. Cost O(N) plus a sort of the distinct words.

    Parameters
    ----------
    words
        the text, word by word.
    vocab_size
        V, the number of tokens, the unknown one included.

    Returns
    -------
    Encoding
        the tokens (N,), and the vocabulary: the word of each token.

    Raises
    ------
    ValueError
        no words, or a text that was not split; `vocab_size` below 2, or larger than the number of
        distinct words plus one.

    Examples
    --------
    >>> from ntpcompanion.languages import encode, split_words
    >>> text = encode(split_words("The cat doesn't sit; the dog sits."), vocab_size=3)
    >>> text.tokens.tolist(), text.vocabulary
    ([1, 2, 0, 0, 1, 0, 0], ('<unk>', 'the', 'cat'))
    """
    if isinstance(words, str):
        raise ValueError("`words` must be a list of words, got a text. Use split_words.")
    if not isinstance(words, Iterable):
        raise ValueError(f"`words` must be a list of words, got {described(words)}.")
    counts = Counter(words)
    if odd := [word for word in counts if not isinstance(word, str)]:
        raise ValueError(f"`words` must hold strings, got {described(odd[0])}.")
    if not counts:
        raise ValueError("`words` is empty: the text holds no words. Give a longer text.")
    if not 2 <= as_integer("vocab_size", vocab_size) <= len(counts) + 1:
        raise ValueError(
            f"`vocab_size` must lie in 2 … {len(counts) + 1} (the text has {len(counts)} distinct "
            f"words), got {vocab_size}."
        )
    kept = sorted(counts, key=lambda word: (-counts[word], word))[: vocab_size - 1]
    number = {word: index for index, word in enumerate(kept, 1)}
    return Encoding(
        np.array([number.get(word, 0) for word in words], dtype=np.int64), (UNKNOWN, *kept)
    )
