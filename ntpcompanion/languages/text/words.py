"""From a text to integers: words, and a vocabulary of the most frequent ones."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import regex
from jaxtyping import Int

from ntpcompanion.checks import checked
from ntpcompanion.validation import as_integer, described, require

UNKNOWN = "<unk>"


def _having(*values: str) -> str:
    """The characters with one of these values of Unicode's property Word_Break."""
    return "[" + "".join(rf"\p{{Word_Break={value}}}" for value in values) + "]"


# The rules of UAX 29 in terms of its property Word_Break; in brackets their numbers. (The `\b` of
# `regex` misses some of them: it sees no boundary in "'a".)
_MARK = _having("Extend", "ZWJ")  # accents, vowel signs, the joiners of Persian and Indic (WB4)
_LETTER, _HEBREW = _having("ALetter", "Hebrew_Letter"), _having("Hebrew_Letter")
_LINE = rf"[{_having('ExtendNumLet')}--\s]"  # "_"; French has a space that would count as one
_PLAIN = f"[{_LETTER}{_having('Numeric')}{_LINE}]"
_KANA = _having("Katakana")
# (WB5, WB8, WB9, WB10 and WB13; WB13a and WB13b)
_PLAINS, _KANAS = f"{_PLAIN}[{_PLAIN}{_MARK}]*+", f"{_KANA}[{_KANA}{_MARK}]*+"
_RUN = (
    f"(?:{_PLAINS}|{_KANAS})"
    f"(?:(?={_KANA})(?<={_LINE}{_MARK}*){_KANAS}|(?={_LINE})(?<={_KANA}{_MARK}*){_PLAINS})*+"
)
_INSIDE = "|".join(  # (WB6, WB7; WB7b, WB7c)
    rf"(?<={side}{_MARK}*){sign}{_MARK}*+(?={side})"
    for side, sign in (
        (_PLAIN, "['‘’＇]"),
        (_LETTER, f"[{_having('MidLetter')}--[:︓﹕：]]"),
        (_HEBREW, '"'),
    )
)
_AFTER = rf"(?:(?<={_HEBREW}{_MARK}*)'{_MARK}*+)?+"  # (WB7a)
# Scripts that put no spaces between words (Han, kana, Thai, Khmer …): UAX 29 has a boundary on both
# sides of each of their letters, and leaves it to dictionaries to join some.
_ALONE = r"[[\p{L}\p{N}]&&\p{Word_Break=Other}]"
_WORD = regex.compile(rf"{_RUN}(?:(?:{_INSIDE}){_RUN})*+{_AFTER}|{_ALONE}{_MARK}*+", regex.V1)
_UNSPACED = regex.compile(r"[[\p{L}\p{Nl}]&&\p{Word_Break=Other}]", regex.V1)
_INVISIBLE = regex.compile(r"\p{Word_Break=Format}+")  # soft hyphens, marks of direction


@checked
def split_words(text: str) -> list[str]:
    """The words of a text, in order and in lower case, as the notes of `split_text` define them.
    "sys.path" are two words, and "2's" is one.

    Besides, runs of Katakana stay together. Letters are composed (NFC) first, and soft hyphens and
    marks of direction left out, so that a word is one word however it was typed. Raises
    `ValueError` for what is not a text.
    """
    composed = unicodedata.normalize("NFC", text.lower())
    return _WORD.findall(_INVISIBLE.sub("", composed))


def count_unspaced(words: Iterable[str]) -> int:
    """How many of the words of `split_words` are single characters of a script without spaces
    between words.
    """
    return sum(_UNSPACED.match(word) is not None for word in words)


@dataclass(frozen=True, eq=False)
class Encoding:
    """A text as integers.

    Fields
    ------
    tokens
        (N,) the number of each word of the text; 0 is the unknown token.
    vocabulary
        the V words by number; `vocabulary[0]` is "<unk>", then the most frequent words.
    """

    tokens: Int[np.ndarray, " N"]
    vocabulary: tuple[str, ...]

    @property
    def share_unknown(self) -> float:
        """The share of the text that became the unknown token."""
        return float(np.mean(self.tokens == 0))


def encode(words: Sequence[str], vocab_size: int) -> Encoding:
    """Number the words: the `vocab_size` − 1 most frequent ones have their own token, all others
    share the unknown token 0.

    The word "<unk>" is unknown from the start: a tokenizer's own mark (see `split_text`), or that
    of whoever prepared the text. Equally frequent words are taken in alphabetical order, so that
    the encoding depends on the words only. Cost O(N) plus a sort of the distinct words.

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
        distinct known words plus one.

    Examples
    --------
    >>> from ntpcompanion.languages import encode, split_text
    >>> text = encode(split_text("The cat doesn't sit; the dog sits.").tokens, vocab_size=3)
    >>> text.tokens.tolist(), text.vocabulary
    ([1, 2, 0, 0, 1, 0, 0], ('<unk>', 'the', 'cat'))
    """
    listed = isinstance(words, Iterable) and not isinstance(words, str)
    require(listed, f"`words` must be a list of words, got {described(words)}.")
    counts = Counter(words)
    for odd in [word for word in counts if not isinstance(word, str)][:1]:
        raise ValueError(f"`words` must hold strings, got {described(odd)}.")
    known = len(counts) - (UNKNOWN in counts)
    require(known, "`words` is empty, or holds the unknown word only. Give another text.")
    as_integer("vocab_size", vocab_size, 2, known + 1, f"(the text has {known} distinct words)")
    frequent = sorted(counts.keys() - {UNKNOWN}, key=lambda word: (-counts[word], word))
    retained = frequent[: vocab_size - 1]
    number = {word: index for index, word in enumerate(retained, 1)}
    return Encoding(
        np.array([number.get(word, 0) for word in words], dtype=np.int64), (UNKNOWN, *retained)
    )
