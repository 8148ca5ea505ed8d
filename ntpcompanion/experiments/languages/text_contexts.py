"""The contexts of a text, length by length: how many there are, how few tokens follow each, and the
entropy of the next token, also of prefixes of sequences that the text is cut into.
"""

from typing import Annotated, Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.languages.text.counting import ContextCounts, count_contexts
from ntpcompanion.languages.text.prefixes import count_prefixes
from ntpcompanion.languages.text.segmentation import Segmentation, split_text
from ntpcompanion.languages.text.words import Encoding, encode
from ntpcompanion.linear.tables.autoregressive import flatten_sequences, recurrent_states
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream

INPUTS = ("text",)  # fields of a plan that name files
OFTEN = 100  # occurrences of a token that sequences may begin with

Numbers = tuple[float, ...]


class Plan(experiment.Plan):
    """A whole text, and the sequences that it is cut into."""

    vocab_size: Annotated[int, Field(ge=2, description="V: frequent words and one for the rest")]
    max_length: Annotated[int, Field(ge=2, description="T, tokens: the longest context")]
    num_sequences: Annotated[int, Field(ge=1, description="n, at most as many as the text holds")]
    dim: Annotated[int, Field(ge=1, description="d, coordinates of an embedding")]
    seed: Annotated[int, Field(ge=0, description="of embeddings, recurrence and decoder")]
    text: Annotated[
        str, Field(min_length=1, description="path of a UTF-8 text, or a module with `topics`")
    ] = "pydoc_data.topics"
    tokenizer: Annotated[
        str, Field(min_length=1, description="words, characters, bytes, or a tokenizer.json")
    ] = "words"


class Length(experiment.Result):
    """All contexts of one length."""

    t: Annotated[int, Field(description="tokens")]
    contexts: Annotated[int, Field(description="m_t, distinct ones")]
    mean: Annotated[float, Field(description="tokens that follow a context")]
    largest: Annotated[int, Field(description="number of them")]
    of_contexts: Annotated[float, Field(description="share with one successor")]
    of_positions: Annotated[float, Field(description="the same, by frequency")]
    floor: Annotated[float, Field(description="H_t, nats")]


class Result(experiment.Result):
    """Contexts of the text, and prefixes of sequences."""

    about: Annotated[str, Field(description="the text in words")]
    words: Annotated[int, Field(description="of the text")]
    distinct: Annotated[int, Field(description="different ones")]
    unknown: Annotated[float, Field(description="share of the text outside the vocabulary")]
    lengths: tuple[Length, ...]
    positive: Annotated[float, Field(description="share of entries of the table, t = 2")]
    opener: Annotated[str, Field(description="frequent token after which H_2 − H_1 is largest")]
    windows: Annotated[Numbers, Field(description="floors by prefix, of all windows (nats)")]
    cut: Annotated[Numbers, Field(description="the same, of the text cut into sequences")]
    after: Annotated[Numbers, Field(description="the same, of windows that begin with `opener`")]
    prefixes: Annotated[tuple[int, ...], Field(description="distinct ones, of the sequences")]
    example: Annotated[Numbers, Field(description="floors by prefix of abc and abd (nats)")]
    sequences: Annotated[int, Field(description="n that the text holds")]
    rows: Annotated[int, Field(description="of the one table of all sequences")]
    entropy: Annotated[float, Field(description="of that table (nats)")]
    loss_gap: Annotated[float, Field(description="autoregressive loss less the table's (nats)")]
    gradient_gap: Annotated[float, Field(description="largest difference of their gradients")]

    @property
    def curve(self) -> pd.DataFrame:
        """A row for each length of contexts."""
        table = table_of(self.lengths)
        names = {
            "mean": "mean successors",
            "largest": "most successors",
            "of_contexts": "one-hot, of contexts",
            "of_positions": "one-hot, of positions",
            "floor": "floor (nats)",
        }
        return table.rename(columns=names).assign(
            **{
                "unigram above floor": table.floor[0] - table.floor,
                "bigram above floor": (table.floor[1] - table.floor).where(table.t > 0),
            }
        )

    @property
    def from_one(self) -> pd.DataFrame:
        """The `curve` without t = 0."""
        return self.curve[1:]

    @property
    def by_prefix(self) -> pd.DataFrame:
        """Floors of prefixes in the text, by their length."""
        special = f"sequences from “{self.opener}” on"
        columns = {"all windows": self.windows, "text cut into sequences": self.cut}
        columns |= {special: self.after, "prefixes, text cut into sequences": self.prefixes}
        return pd.DataFrame(columns).rename_axis(index="t")


def read_counts(plan: Plan) -> tuple[Segmentation, Encoding, list[ContextCounts]]:
    """The text in words and in tokens, and its contexts of t = 0, …, T tokens.

    Raises ValueError, FileNotFoundError and ImportError as `read_text`, `split_text` and `encode`.
    """
    split = split_text(read_text(plan.text).content, plan.tokenizer)
    encoding = encode(split.tokens, plan.vocab_size)
    lengths = range(plan.max_length + 1)
    return split, encoding, count_contexts(encoding.tokens, plan.vocab_size, lengths)


def run(plan: Plan) -> Result:
    """Count the contexts of a text and the prefixes of its sequences, and compare the loss of an
    autoregressive model on these sequences with that of one table of contexts.

    Returns numbers of contexts, floors, and the differences. Cost O(N T log N) for N words.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError
        as `read_text`, `split_text` and `encode`.

    Examples
    --------
    >>> from ntpcompanion.experiments import text_contexts
    >>> sizes = {"vocab_size": 16, "max_length": 2, "num_sequences": 20, "dim": 2}
    >>> found = text_contexts.run(text_contexts.Plan(**sizes, seed=0))
    >>> found.lengths[0].contexts, [round(floor, 2) for floor in found.example]
    (1, [0.0, 0.0, 0.69])
    """
    split, encoding, counts = read_counts(plan)
    tokens, width = encoding.tokens, plan.max_length + 1
    number = min(plan.num_sequences, tokens.size // width)
    sequences = tokens[: number * width].reshape(number, width)
    windows = np.stack([np.roll(tokens, -shift) for shift in range(width)], axis=1)
    cut, opener = count_prefixes(sequences, plan.vocab_size), _opener(plan, tokens)
    rng = stream(plan.seed, "embeddings")
    table = ContextTable.from_tokens(tokens, plan.vocab_size, 2, plan.dim, rng)
    return Result(
        about=split.about,
        words=len(split.tokens),
        distinct=len(set(split.tokens) - {encoding.vocabulary[0]}),
        unknown=encoding.share_unknown,
        lengths=tuple(map(_length, counts)),
        positive=table.distributions.nnz / (table.num_contexts * table.vocab_size),
        opener=encoding.vocabulary[opener],
        windows=_floors(windows, plan.vocab_size),
        cut=tuple(count.entropy for count in cut),
        after=_floors_after(plan, tokens, opener, plan.max_length),
        prefixes=tuple(count.num_contexts for count in cut),
        example=_floors(np.array([[0, 1, 2], [0, 1, 3]]), 4),
        sequences=number,
        **_one_table(plan, sequences),
    )


def _length(counts: ContextCounts) -> Length:
    return Length(
        t=counts.length,
        contexts=counts.num_contexts,
        mean=float(counts.support_sizes.mean()),
        largest=int(counts.support_sizes.max()),
        of_contexts=counts.share_one_hot(by_frequency=False),
        of_positions=counts.share_one_hot(by_frequency=True),
        floor=counts.entropy,
    )


def _floors(sequences: Int[np.ndarray, "n T"], vocab_size: int) -> Numbers:
    return tuple(count.entropy for count in count_prefixes(sequences, vocab_size))


def _floors_after(plan: Plan, tokens: Int[np.ndarray, " N"], word: int, length: int) -> Numbers:
    """Floors of the windows that begin with a token."""
    starts = np.flatnonzero(tokens[: tokens.size - length] == word)
    return _floors(tokens[starts[:, None] + np.arange(length + 1)], plan.vocab_size)


def _opener(plan: Plan, tokens: Int[np.ndarray, " N"]) -> int:
    """The frequent token, other than the unknown one, after which the floor rises most from the
    prefix of one token to that of two.
    """
    occurs = np.bincount(tokens[: -plan.max_length])[1:]
    often = (1 + np.flatnonzero(occurs >= min(OFTEN, occurs.max()))).tolist()
    floors = {word: _floors_after(plan, tokens, word, 2) for word in often}
    return int(max(often, key=lambda word: floors[word][2] - floors[word][1]))


def _one_table(plan: Plan, sequences: Int[np.ndarray, "n T"]) -> dict[str, Any]:
    """The loss of a random linear decoder over all prefixes, by automatic differentiation and as
    that of one table.
    """
    rng, V = stream(plan.seed, "recurrence"), plan.vocab_size
    states: Float[np.ndarray, "n T d"] = recurrent_states(sequences[:, :-1], V, plan.dim, rng)
    W = stream(plan.seed, "decoder").standard_normal((V, plan.dim))
    decoder = torch.tensor(W, requires_grad=True)
    logits = torch.from_numpy(states).flatten(0, 1) @ decoder.T
    following = torch.from_numpy(sequences[:, 1:].flatten())
    direct = torch.nn.functional.cross_entropy(logits, following)
    (slope,) = torch.autograd.grad(direct, decoder)
    flat = flatten_sequences(sequences, states, V)
    return {
        "rows": flat.num_contexts,
        "entropy": flat.entropy,
        "loss_gap": abs(direct.item() - flat.cross_entropy(W)),
        "gradient_gap": float(np.abs(slope.numpy() - flat.gradient(W)).max()),
    }
