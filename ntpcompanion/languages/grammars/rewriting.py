"""Sentences of a grammar, many at once: every symbol is rewritten until only words are left.

In a form, a word is its number, and symbol a is −2 − a; PADDING stands on the right.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ntpcompanion.languages.language import PADDING, cumulative, draw


def first_symbols(
    root: Float[Tensor, " S"], rows: int, columns: int, generator: torch.Generator
) -> Int[Tensor, "rows columns"]:
    """Forms of one symbol each, drawn from the distribution of the symbol of the whole sentence."""
    forms = torch.full((rows, columns), PADDING, device=generator.device)
    whole = torch.zeros(rows, dtype=torch.int64, device=generator.device)
    forms[:, 0] = -2 - draw(cumulative(root[None]), whole, len(root), generator)
    return forms


def all_words(
    forms: Int[Tensor, "rows columns"],
    rules: Tensor,
    sizes: tuple[int, int],
    generator: torch.Generator,
) -> Int[Tensor, "kept columns"]:
    """Expand forms until only words are left; those that outgrow the columns are dropped.

    Every symbol becomes at least one word, so that a form that is too long can be dropped before it
    is complete.

    Parameters
    ----------
    rules
        what `cumulative` makes of the rules of each symbol: V words first, then S² pairs.
    sizes
        S and V.
    """
    while bool((forms < PADDING).any()):
        forms = _rewritten(forms, rules, sizes, generator)
    return forms


def _rewritten(
    forms: Tensor, rules: Tensor, sizes: tuple[int, int], generator: torch.Generator
) -> Tensor:
    """All symbols rewritten once, without the rows that became too long."""
    symbols, words = sizes
    open_ = forms < PADDING
    first, second = forms.clone(), torch.full_like(forms, PADDING)
    rule = draw(rules, -2 - forms[open_], words + symbols**2, generator)
    pair = rule - words
    first[open_] = torch.where(pair < 0, rule, -2 - pair.div(symbols, rounding_mode="floor"))
    second[open_] = torch.where(pair < 0, PADDING, -2 - pair % symbols)
    wide = torch.stack([first, second], 2).flatten(1)
    column_of = (wide != PADDING).cumsum(1) - 1
    fits = column_of[:, -1] < forms.shape[1]
    wide, column_of = wide[fits], column_of[fits]
    row, column = (wide != PADDING).nonzero(as_tuple=True)
    grown = torch.full((len(wide), forms.shape[1]), PADDING, device=forms.device)
    grown[row, column_of[row, column]] = wide[row, column]
    return grown
