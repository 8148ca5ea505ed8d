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
    """Check a text against the sizes that a table of its contexts is to have.

    Parameters
    ----------
    text
        as `read_text` takes it.
    tokenizer
        as `split_text` takes it.
    vocab_size
        V, the tokens of the table, the unknown one included.
    context_length
        the longest context, in tokens.
    num_words
        how many tokens are read, from the beginning; all if None.
    num_sequences
        how many sequences of `context_length` + 1 tokens the text is cut into; None if it is not.

    Returns
    -------
    list of str
        a sentence for each thing that a reader should know, though it can be done: many unknown
        tokens, fewer sequences than asked for.

    Raises
    ------
    FileNotFoundError, ImportError, ValueError
        as `read_text` and `split_text`; a text with fewer tokens, or fewer different ones, than
        asked for; one token repeated; over 90 % unknown tokens.

    Notes
    -----
    Cost that of `split_text`, and a count of the tokens.

    Examples
    --------
    >>> from ntpcompanion.languages.text.own_text import check_text
    >>> check_text("pydoc_data.topics", vocab_size=512, context_length=2)
    []
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
