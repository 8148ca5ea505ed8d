"""From a text to tokens: words, characters, bytes, or what a tokenizer file says."""

import importlib
import json
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import regex

from ntpcompanion.checks import checked
from ntpcompanion.languages.text.words import UNKNOWN, count_unspaced, split_words
from ntpcompanion.validation import as_integer, described

TOKENIZERS = ("words", "characters", "bytes")
# Below this share of the words, characters of scripts without spaces are names and quotations.
MENTIONED = 0.05


@dataclass(frozen=True, eq=False)
class Segmentation:
    """A text as tokens in order, the name of the tokenizer that split it, and `about`: what a token
    is, in a sentence or two for a page.
    """

    tokens: list[str]
    tokenizer: str
    about: str

    def first(self, num_words: int) -> list[str]:
        """The first `num_words` tokens. Raises ValueError for a number below 1 or beyond the
        text.
        """
        unit = self.tokenizer if self.tokenizer in TOKENIZERS else "tokens"
        as_integer("num_words", num_words, 1, len(self.tokens), f"(the {unit} of the text)")
        return self.tokens[:num_words]


@checked
def split_text(text: str, tokenizer: str = "words") -> Segmentation:
    """Split a text into tokens, and say how.

    Parameters
    ----------
    text
        any text.
    tokenizer
        "words": in lower case, see below. "characters": what a reader takes for one character (a
        letter with its accents), white space and punctuation included, as they stand. "bytes": of
        UTF-8; printable ones of ASCII as they stand, others like "0xE2". Anything else is the path
        of a `tokenizer.json` of Hugging Face, which is read without any download; of its settings
        truncation, padding and special tokens are left out. Its own token for unknown words,
        whatever its name, becomes "<unk>", which `encode` takes for unknown.

    Returns
    -------
    Segmentation
        the tokens, the tokenizer, and what a token is.

    Raises
    ------
    FileNotFoundError
        neither a known tokenizer nor a file.
    ImportError
        a file is given, and the library `tokenizers` is not installed.
    ValueError
        the file does not hold a tokenizer, or one that has no token for a word of the text, not
        even one for unknown words.

    Notes
    -----
    A word is what lies between two of Unicode's word boundaries (UAX 29) and begins with a letter,
    a digit or an underscore. Exceptions: full stops, commas, colons, semicolons and spaces always
    separate, and apostrophes join digits and underscores as they join letters. Where a script has
    no spaces between words, as in Chinese, Japanese and Thai, each character is a word.

    Cost O(N): 0.2 s for half a million letters.

    Examples
    --------
    >>> from ntpcompanion.languages import split_text
    >>> split_text("The cat sits.").tokens
    ['the', 'cat', 'sits']
    >>> split_text("cats", "characters").tokens
    ['c', 'a', 't', 's']
    >>> split_text("né", "bytes").tokens
    ['n', '0xC3', '0xA9']
    """
    known: dict[str, Callable[[str], tuple[list[str], str]]] = {
        "words": _words,
        "characters": _characters,
        "bytes": _bytes,
    }
    if tokenizer in known:
        tokens, about = known[tokenizer](text)
    else:
        tokens, about = _from_file(text, tokenizer)
    return Segmentation(tokens, tokenizer, about)


def _words(text: str) -> tuple[list[str], str]:
    words = split_words(text)
    about = (
        "Tokens are words in lower case, by Unicode's rules for word boundaries (UAX 29), but full "
        "stops, commas, colons and semicolons always separate, and apostrophes also join digits."
    )
    unspaced = count_unspaced(words)
    if unspaced > MENTIONED * len(words):
        percentage = 100 * unspaced / len(words)
        about += (
            f" Of these words, {percentage:.0f} % are single characters of a script that "
            "is written without spaces between words; the tokenizer `characters` splits all of the "
            "text so."
        )
    return words, about


def _characters(text: str) -> tuple[list[str], str]:
    # one character may be written in two ways, as a letter with an accent or as both
    characters = regex.findall(r"\X", unicodedata.normalize("NFC", text))
    return characters, (
        "Tokens are the characters of the text as they stand, spaces and punctuation included."
    )


def _bytes(text: str) -> tuple[list[str], str]:
    names = [chr(byte) if 32 <= byte < 127 else f"0x{byte:02X}" for byte in range(256)]
    return [names[byte] for byte in text.encode()], "Tokens are the bytes of the text in UTF-8."


def _from_file(text: str, tokenizer: str) -> tuple[list[str], str]:
    path = Path(tokenizer).expanduser()
    if not path.is_file():
        raise FileNotFoundError(
            f"`tokenizer` = {tokenizer!r} is neither {', '.join(TOKENIZERS)} nor a file. Give one "
            "of these, or the path of a tokenizer.json."
        )
    try:
        library = importlib.import_module("tokenizers")
    except ModuleNotFoundError as error:
        raise ImportError(
            f"`tokenizer` = {tokenizer!r} is read with the library tokenizers, which is not "
            "installed. Run `pip install -c constraints.txt -e '.[opt]'`."
        ) from error
    try:
        loaded = library.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more special
        raise ValueError(
            f"`tokenizer` = {tokenizer!r} is not a tokenizer.json of Hugging Face: {error}."
        ) from error
    loaded.no_truncation()
    loaded.no_padding()
    kind, size = type(loaded.model).__name__, loaded.get_vocab_size()
    return _encoded(loaded, text, tokenizer), (
        f"Tokens are those of {path.name}, a {kind} tokenizer of {size:,} tokens."
    )


def _encoded(loaded: Any, text: str, tokenizer: str) -> list[str]:
    """The tokens of a text, UNKNOWN for the tokenizer's own unknown one. By its number: some models
    write the word there instead of the name.
    """
    settings = json.loads(loaded.to_str())["model"]
    name = settings.get("unk_token")
    unknown = loaded.model.token_to_id(name) if name else settings.get("unk_id")
    fault = ""
    try:
        encoded = loaded.encode(text, add_special_tokens=False)
    except Exception as error:  # as above
        fault = f" ({error})"
    # a model of byte pairs without an unknown token leaves out what it does not know
    if fault or (unknown is None and settings["type"] == "BPE"):
        word = next((word for word in _pieces(loaded, text) if not _covered(loaded, word)), None)
        if fault or word is not None:
            raise ValueError(
                f"`tokenizer` = {tokenizer!r} has no token for {described(word)} of the text, "
                f"and none for unknown words{fault}. Add one to the file, or give another one."
            )
    return [
        UNKNOWN if number == unknown else token
        for number, token in zip(encoded.ids, encoded.tokens, strict=True)
    ]


def _pieces(loaded: Any, text: str) -> Iterator[str]:
    """The words into which a tokenizer cuts a text before it looks them up, each once; without
    those of tokens that were added to its model, which are looked up before.
    """
    added = " ".join(token.content for token in loaded.get_added_tokens_decoder().values())
    if loaded.normalizer is not None:
        text = loaded.normalizer.normalize_str(text)
    cut = loaded.pre_tokenizer
    words = [text] if cut is None else [word for word, _ in cut.pre_tokenize_str(text)]
    return (word for word in dict.fromkeys(words) if word not in added)


def _covered(loaded: Any, word: str) -> bool:
    """Whether every byte of a word lies in one of its tokens."""
    try:
        parts = loaded.model.tokenize(word)
    except Exception:  # as above
        return False
    return sum(end - start for start, end in (part.offsets for part in parts)) == len(word.encode())
