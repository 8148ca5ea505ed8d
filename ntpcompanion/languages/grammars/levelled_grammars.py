"""Grammars at the sizes of Liu et al. (2023), and the labels of the downstream tasks on their
sentences.
"""

from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
import torch
from jaxtyping import Int, Integer
from torch import Tensor

from ntpcompanion.checks import Length, Range, Size, checked, need
from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.language_checks import checked_tokens
from ntpcompanion.validation import require

NO_LABEL = -1


@checked(
    need(
        "words",
        "None in (words, grammar.longest) or words <= grammar.longest",
        "be at most {grammar.longest}, the words of the longest sentence of the grammar",
    )
)
def span_labels(
    grammar: PCFG,
    tokens: Annotated[Integer[Tensor, "batch length"], Length(0)],
    words: Size | None,
    by: Literal["posterior", "inside"],
) -> Int[Tensor, " batch"]:
    """The label of a downstream task: the likeliest symbol of the first `words` words of each
    sentence, (batch,) int64.

    The paper asks for spans of 32, 16 and 8 words (Liu et al. 2023, section 3.2) and is silent
    about shorter sentences. Its released code takes the whole sentence, the first 4 and the first 2
    words. Here the sample of a task are the sentences that have a label; the others get −1 and are
    to be left out: those with fewer words, and those in which no symbol can span the words.

    Parameters
    ----------
    grammar
        S symbols.
    tokens
        (batch, length) sentences, padded with −1 on the right.
    words
        length of the span, or None for the whole sentence.
    by
        "posterior", as the paper words it: argmax_a Pr(a spans the words | sentence), root and
        outside included. "inside", as the released code does: argmax_a Pr(a yields the words),
        whatever surrounds them; over the symbols that can start a sentence if the span is the whole
        of it, over all symbols otherwise.

    Returns
    -------
    (batch,) int64 tensor
        a symbol for each sentence, or −1.

    Raises
    ------
    ValueError
        `words` below 1 or above the longest sentence of the grammar, another `by`, or (by
        posterior) a sentence of probability 0.

    Notes
    -----
    Cost that of `log_inside` or `latent_posterior` of the whole batch; give it in batches of about
    100 sentences.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.languages import PCFG, span_labels
    >>> root = torch.tensor([1.0, 0.0], dtype=torch.float64)
    >>> binary = torch.zeros(2, 2, 2, dtype=torch.float64)
    >>> binary[0, 1, 1] = 0.4  # symbol 0 → symbol 1, symbol 1
    >>> lexical = torch.tensor([[0.6, 0.0], [0.5, 0.5]], dtype=torch.float64)
    >>> grammar = PCFG(root, binary, lexical)
    >>> span_labels(grammar, torch.tensor([[0, 1]]), None, "posterior").tolist()  # the root
    [0]
    >>> span_labels(grammar, torch.tensor([[0, 1]]), 1, "posterior").tolist()  # the first word
    [1]
    """
    lengths = checked_tokens(tokens, grammar.vocab_size)[1]
    spans = lengths if words is None else torch.full_like(lengths, words)
    if by == "inside":
        chart = grammar.log_inside(tokens)
        if words is None:
            chart = chart.masked_fill(grammar.root.to(tokens.device) == 0, -torch.inf)
        threshold = -torch.inf
    else:
        chart = grammar.latent_posterior(tokens)
        threshold = 0.0
    width = (spans - 1).clamp_max(max(tokens.shape[1] - 1, 0))
    best, label = (
        chart[torch.arange(len(tokens), device=tokens.device), 0, width].max(-1)
        if len(tokens)
        else (lengths, lengths)
    )
    return torch.where((best > threshold) & (spans <= lengths), label, NO_LABEL)


@checked(need("symbols", "symbols >= depth", "be at least `depth` = {depth}, one for each level"))
def random_levelled_pcfg(
    rng: np.random.Generator,
    *,
    symbols: Size = 50,
    vocab: Size = 200,
    depth: Size = 6,
    pairs: Size = 20,
    words: Annotated[int, Range(1, "vocab", "(`vocab`)")] = 100,
    stop: Annotated[float, Range(0, 1)] = 0.15,
) -> PCFG:
    """A random grammar of levels, at the sizes of Liu et al. 2023 by default: 50 symbols, 200
    words, depth 6, so at most 32 words.

    The paper's grammar is not published, and the one released with its code differs (at most 16
    words). The choices here follow the released one in kind: symbols are spread evenly over `depth`
    levels (the first ones get one more); a sentence starts at a symbol of the first level; a symbol
    above the last level has `pairs` different pairs of symbols of the next level and one word, a
    symbol of the last level has `words` words. Which ones is uniform; probabilities are uniform on
    the simplex (Dirichlet with parameter 1), but for the word of a symbol above the last level,
    which has probability `stop`: 0.15 makes sentences 17.03 words long on average, where the
    paper's counts give 17.

    The entropy floor with the defaults (seed 0) is 4.09 ± 0.02 nats per sentence and 4.625 ± 0.006
    per token; the released grammar has 4.15 and 4.46 ± 0.05, the paper prints 3.196. Fewer pairs
    and words lower it: 3.47 ± 0.03 per sentence with `pairs` = 10, `words` = 30.

    Parameters
    ----------
    rng
        draws rules and probabilities.
    symbols, vocab
        how many symbols and words.
    depth
        how many levels.
    pairs
        how many pairs a symbol above the last level may be rewritten as.
    words
        how many words a symbol of the last level may be rewritten as.
    stop
        the probability of the word of a symbol above the last level.

    Returns
    -------
    PCFG
        the language; its sentences have at most 2^(depth − 1) words.

    Raises
    ------
    ValueError
        fewer symbols than levels, more words than the vocabulary, a size below 1, `stop` outside 0
        … 1, too many pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.languages import random_levelled_pcfg
    >>> sizes = {"symbols": 6, "vocab": 10, "depth": 3, "pairs": 2, "words": 4}
    >>> grammar = random_levelled_pcfg(np.random.default_rng(0), **sizes)
    >>> tuple(grammar.binary.shape), grammar.longest
    ((6, 6, 6), 4)
    """
    levels = np.array_split(np.arange(symbols), depth)
    limit = len(levels[-1]) ** 2 if depth > 1 else pairs
    require(
        pairs <= limit,
        f"`pairs` must be at most {limit}, all of the smallest level, got {pairs}.",
    )
    root, binary, lexical = np.zeros(symbols), np.zeros((symbols,) * 3), np.zeros((symbols, vocab))
    root[levels[0]] = rng.dirichlet(np.ones(len(levels[0])))
    for level, below in pairwise(levels):
        for a in level:
            left, right = np.divmod(rng.choice(len(below) ** 2, pairs, replace=False), len(below))
            binary[a, below[left], below[right]] = (1 - stop) * rng.dirichlet(np.ones(pairs))
            lexical[a, rng.integers(vocab)] = stop
    for a in levels[-1]:
        lexical[a, rng.choice(vocab, words, replace=False)] = rng.dirichlet(np.ones(words))
    return PCFG(torch.tensor(root), torch.tensor(binary), torch.tensor(lexical))
