"""Whether a text of one's own is enough for what is asked of it, known before anything long
starts.
"""

from collections import Counter

import numpy as np
from jaxtyping import Float

from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.languages.text.segmentation import TOKENIZERS, split_text
from ntpcompanion.languages.text.words import UNKNOWN
from ntpcompanion.validation import require

# Beyond a half, the unknown token is more frequent than all others together: most contexts hold it.
WARNED_UNKNOWN = 0.5
# Beyond nine tenths, four of five contexts of two tokens are the one context of two unknown tokens.
MAX_UNKNOWN = 0.9


def check_text(
    text: str,
    tokenizer: str = "words",
    *,
    vocab_size: int,
    context_length: int,
    num_words: int | None = None,
    num_sequences: int | None = None,
) -> list[str]:
    """Check a text, as `read_text` and `split_text` take it, against the sizes that a table of its
    contexts is to have. Returns a sentence for each thing that a reader should know, though it can
    be done: many unknown tokens, fewer sequences than asked for.

    `vocab_size` includes the unknown token, and `context_length` is the longest. `num_words` tokens
    are read from the beginning, all if None, and cut into `num_sequences` of `context_length` + 1.

    Raises `FileNotFoundError`, `ImportError` and `ValueError` as `read_text` and `split_text`, and
    `ValueError` for a text with fewer tokens, or fewer different ones, than asked for, one token
    repeated, or over 90 % unknown tokens.
    """
    tokens = split_text(read_text(text).content, tokenizer).tokens
    unit = tokenizer if tokenizer in TOKENIZERS else "tokens"
    has = f"`text` = {text!r} has {_number(len(tokens), unit)}"
    require(tokens, f"{has}. Give another text, or `tokenizer` = 'characters'.")
    enough = num_words is None or num_words <= len(tokens)
    require(enough, f"{has}, and `num_words` = {num_words} asks for more. Give a longer text.")
    used = tokens[:num_words]
    minimum = 2 * (context_length + 1)
    needed = f"with `context_length` = {context_length}, at least {minimum} are needed"
    require(len(used) >= minimum, f"{has}, of which {len(used)} are read; {needed}.")
    frequencies = Counter(used)
    require(len(frequencies) > 1, f"{has}, all the same: nothing is left to predict.")
    del frequencies[UNKNOWN]  # by the tokenizer's own account
    counts = sorted(frequencies.values(), reverse=True)
    kinds = f"the {len(used)} {unit} that are read are {len(counts)} different ones"
    require(
        2 <= vocab_size <= len(counts) + 1,
        f"`vocab_size` = {vocab_size} does not fit `text` = {text!r}: {kinds}.",
    )
    sentences = _about_unknown(np.cumsum(counts) / len(used), unit, vocab_size)
    if num_sequences is not None and num_sequences > (cut := len(used) // (context_length + 1)):
        sentences.append(
            f"`num_sequences` = {num_sequences}, but the text is cut into {cut} sequences of "
            f"{context_length + 1} {unit}: all of them are used."
        )
    return sentences


def _about_unknown(known: Float[np.ndarray, " kinds"], unit: str, vocab_size: int) -> list[str]:
    """A sentence if most tokens are unknown; ValueError if nearly all are. `known` is the fraction
    that is known by the number of tokens in the vocabulary.
    """
    fraction = 1 - known[vocab_size - 2]
    if fraction <= WARNED_UNKNOWN:
        return []
    enough = int(np.searchsorted(known, 1 - WARNED_UNKNOWN))
    sentence = (
        f"with `vocab_size` = {vocab_size}, {100 * fraction:.0f} % of the {unit} are unknown; "
        + (
            f"`vocab_size` = {enough + 2} leaves a half."
            if enough < len(known)
            else f"{100 * (1 - known[-1]):.0f} % are unknown to the tokenizer itself."
        )
    )
    if fraction > MAX_UNKNOWN:
        raise ValueError(f"There would be hardly a context of known tokens: {sentence}")
    return [f"{sentence} Contexts are told apart by known tokens only."]


def _number(count: int, unit: str) -> str:
    return f"{count:,} {unit}" if count != 1 else f"one {unit.removesuffix('s')}"
