"""Whether a text of one's own is enough for what is asked of it, known before anything long
starts.
"""

import warnings
from collections import Counter

import numpy as np
from jaxtyping import Float

from ntpcompanion.checks import Size, checked
from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.languages.text.segmentation import TOKENIZERS, split_text
from ntpcompanion.languages.text.words import UNKNOWN
from ntpcompanion.validation import require

# Beyond a half, the unknown token is more frequent than all others together: most contexts hold it.
WARNED_UNKNOWN = 0.5
# Beyond nine tenths, four of five contexts of two tokens are the one context of two unknown tokens.
MAX_UNKNOWN = 0.9


@checked
def check_text(
    text: str,
    tokenizer: str = "words",
    *,
    vocab_size: Size,
    context_length: Size,
    num_words: Size | None = None,
    num_sequences: Size | None = None,
) -> int:
    """Check a text against the sizes that a table of its contexts is to have, and warn of what a
    reader should know though it can be done: many unknown tokens, fewer sequences than asked for.

    Parameters
    ----------
    text, tokenizer
        as `read_text` and `split_text` take them.
    vocab_size
        with the unknown token.
    context_length
        of the longest contexts, in tokens.
    num_words
        tokens that are read, from the beginning; None for all.
    num_sequences
        into which they are cut, each of `context_length` + 1 tokens; None for as many as there are.

    Returns
    -------
    int
        how many tokens are read.

    Raises
    ------
    FileNotFoundError, ImportError, ValueError
        as `read_text` and `split_text`.
    ValueError
        fewer tokens, or fewer different ones, than asked for; one token repeated; over 90 % unknown
        tokens.

    Examples
    --------
    >>> from ntpcompanion.languages import check_text
    >>> check_text("pydoc_data.topics", vocab_size=512, context_length=2, num_words=5000)
    5000
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
    _check_unknown(np.cumsum(counts) / len(used), unit, vocab_size)
    if num_sequences is not None and num_sequences > (cut := len(used) // (context_length + 1)):
        warnings.warn(
            f"`num_sequences` = {num_sequences}, but the text is cut into {cut} sequences of "
            f"{context_length + 1} {unit}: all of them are used.",
            stacklevel=2,
        )
    return len(used)


def _check_unknown(known: Float[np.ndarray, " kinds"], unit: str, vocab_size: int) -> None:
    """Warn if most tokens are unknown; ValueError if nearly all are. `known` is the fraction that
    is known by the number of tokens in the vocabulary.
    """
    fraction = 1 - known[vocab_size - 2]
    if fraction <= WARNED_UNKNOWN:
        return
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
    warnings.warn(f"{sentence} Contexts are told apart by known tokens only.", stacklevel=3)


def _number(count: int, unit: str) -> str:
    return f"{count:,} {unit}" if count != 1 else f"one {unit.removesuffix('s')}"
