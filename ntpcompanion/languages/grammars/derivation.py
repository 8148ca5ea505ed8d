"""Derivations of a grammar, as trees to look at."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ntpcompanion.checks import Size, checked
from ntpcompanion.languages.grammars.pcfg import MAX_WORDS, PCFG
from ntpcompanion.validation import require


@dataclass(frozen=True)
class Node:
    """A symbol of a parse tree and the words below it.

    Fields
    ------
    symbol
        its number.
    start, words
        its first word's position, and how many words it spans.
    level
        distance from the root of the tree.
    parent
        index of the symbol above in the list of nodes; None for the root.
    word
        the word that the symbol is rewritten as; None if it is rewritten as two symbols.
    """

    symbol: int
    start: int
    words: int
    level: int
    parent: int | None
    word: int | None


@checked
def draw_derivation(
    grammar: PCFG, rng: np.random.Generator, max_words: Size = MAX_WORDS
) -> list[Node]:
    """One derivation drawn from the grammar: its nodes from the root down, the left part of a node
    before the right one.

    The words of the sentence are those of the nodes that have one, in this order. Cost O(S² + V)
    for each node. Raises ValueError for a derivation that outgrows `max_words`, as those of a
    recursive grammar may.

    Parameters
    ----------
    grammar
        what is drawn from.
    rng
        draws the rules.
    max_words
        the largest sentence that is allowed.

    Returns
    -------
    list of Node
        the tree.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from ntpcompanion.languages import PCFG, draw_derivation
    >>> root = torch.tensor([1.0, 0.0], dtype=torch.float64)
    >>> binary = torch.zeros(2, 2, 2, dtype=torch.float64)
    >>> binary[0, 1, 1] = 0.4  # symbol 0 → symbol 1, symbol 1
    >>> lexical = torch.tensor([[0.6, 0.0], [0.5, 0.5]], dtype=torch.float64)
    >>> grammar = PCFG(root, binary, lexical)
    >>> nodes = draw_derivation(grammar, np.random.default_rng(0))
    >>> nodes[0].symbol, nodes[0].parent is None
    (0, True)
    >>> sum(node.word is not None for node in nodes) == nodes[0].words
    True
    """
    symbols, words = grammar.num_symbols, grammar.vocab_size
    rules = np.concatenate(
        [grammar.lexical.cpu().numpy(), grammar.binary.cpu().flatten(1).numpy()], 1
    )
    root = rng.choice(symbols, p=grammar.root.cpu().numpy())
    open_: list[tuple[int, int, int | None]] = [(int(root), 0, None)]
    nodes: list[list[Any]] = []  # the fields of nodes, whose words are counted as they come
    position = 0
    while open_:
        fits = position + len(open_) <= max_words
        require(fits, f"`max_words` = {max_words}: a derivation outgrew it. Allow more.")
        symbol, level, parent = open_.pop()
        rule = int(rng.choice(rules.shape[1], p=rules[symbol] / rules[symbol].sum()))
        nodes.append([symbol, position, 0, level, parent, rule if rule < words else None])
        if rule < words:
            position += 1
            _count_word(nodes)
        else:
            left, right = divmod(rule - words, symbols)
            open_ += [(right, level + 1, len(nodes) - 1), (left, level + 1, len(nodes) - 1)]
    return [Node(*fields) for fields in nodes]


def _count_word(nodes: list[list[Any]]) -> None:
    """One word more below the last node and all above it."""
    node: int | None = len(nodes) - 1
    while node is not None:
        nodes[node][2] += 1
        node = nodes[node][4]
