"""The dimension at which a table becomes separable, by bisection over nested embeddings."""

from dataclasses import dataclass

from ntpcompanion.languages.corpus import read_text
from ntpcompanion.languages.words import encode, split_words
from ntpcompanion.linear.contexts import ContextTable
from ntpcompanion.linear.separability import Verdict, check_separability
from ntpcompanion.randomness import stream


@dataclass(frozen=True)
class Crossing:
    """Where separability begins, as far as proofs reach.

    Fields
    ------
    separable_from
        The smallest d that was proved separable; None if not even all dimensions separate.
    not_separable_to
        The largest d that was proved not separable; 0 if there is none. One less than
        `separable_from` unless a check was undecided.
    """

    separable_from: int | None
    not_separable_to: int


def separability_crossing(table: ContextTable, *, max_iterations: int = 6_300) -> Crossing:
    """The smallest d for which the first d coordinates of the embeddings make the table separable
    (Thrampoulidis 2024, equation 6).

    A decoder of the first d coordinates is one of the first d + 1 with a zero column, so
    separability, once there, stays: bisection finds the crossing with log2(dim) checks. An
    undecided check ends the search, and the two proved sides are returned.

    Raises
    ------
    ValueError
        `max_iterations` below 1.

    Notes
    -----
    Cost log2(d) times that of `check_separability`.
    """
    low, high = 0, table.dim + 1
    d = table.dim  # the far end first: if all dimensions do not separate, one check says so
    while high - low > 1:
        verdict = check_separability(
            _first_coordinates(table, d), max_iterations=max_iterations
        ).verdict
        if verdict is Verdict.UNDECIDED:
            break
        low, high = (low, d) if verdict is Verdict.SEPARABLE else (d, high)
        d = (low + high) // 2
    return Crossing(high if high <= table.dim else None, low)


def text_crossing(
    num_words: int, vocab_size: int, context_length: int, seed: int, text: str = "pydoc_data.topics"
) -> dict:
    """The crossing of the first `num_words` words of a text with N(0, 1) embeddings of m
    coordinates, as plain numbers for a record.

    Returns
    -------
    `{"contexts": m, "mean_support": mean of S_j, "separable_from": d or None, "not_separable_to":
    d, "text_sha256": hash of the text}`.

    Raises
    ------
    ValueError, FileNotFoundError
        As `read_text`, `encode` and `ContextTable.from_tokens`; `num_words` beyond the text.
    """
    source = read_text(text)
    words = split_words(source.content)
    if not 0 < num_words <= len(words):
        raise ValueError(
            f"`num_words` must lie in 1 … {len(words)}, the words of {source.source}, got "
            f"{num_words}."
        )
    tokens = encode(words[:num_words], vocab_size).tokens
    sizes = ContextTable.from_tokens(tokens, vocab_size, context_length, 1, stream(seed, "size"))
    table = ContextTable.from_tokens(
        tokens, vocab_size, context_length, sizes.num_contexts, stream(seed, "crossing")
    )
    found = separability_crossing(table)
    return {
        "contexts": table.num_contexts,
        "mean_support": float(table.support_sizes.mean()),
        "separable_from": found.separable_from,
        "not_separable_to": found.not_separable_to,
        "text_sha256": source.sha256,
    }


def _first_coordinates(table: ContextTable, d: int) -> ContextTable:
    return ContextTable(table.embeddings[:, :d], table.next_token, table.weight)
