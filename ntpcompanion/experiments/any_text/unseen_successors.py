"""Does a text contain elsewhere what its implied table adds?"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.any_text.unreached_entropy import pair_embeddings
from ntpcompanion.experiments.thresholds.text_plan import TextPlan, read_tokens
from ntpcompanion.languages.text.counting import count_contexts
from ntpcompanion.linear.separability.implied_table import implied_table
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.statistics.effects import Effect, mean_effect

INPUTS = ("text",)  # fields of a plan that name files
UNKNOWN = 0  # the token that stands for all rare words
GROUPS = ("added", "both", "one", "neither")


class Plan(TextPlan):
    """Parts of a text, each with the rest of it for comparison; contexts of two words, embedded as
    in `unreached_entropy`.
    """

    context_length: Annotated[int, Field(ge=2, le=2, description="words of a context")] = 2
    parts: Annotated[int, Field(ge=2, description="parts at equal distances")]
    part_words: Annotated[int, Field(ge=10, description="words of a part")]


class Group(experiment.Result):
    """Pairs of a context and a token that does not follow it in the part: of contexts that the rest
    of the text has, without the token that stands for all rare words.
    """

    pairs: Annotated[int, Field(ge=0, description="how many")]
    occurring: Annotated[int, Field(ge=0, description="of them occur in the rest of the text")]
    expected: Annotated[
        float, Field(description="of them, if tokens followed contexts by their frequency alone")
    ]
    held_out: Annotated[float, Field(description="fraction of the rest's tokens after contexts")]
    implied: Annotated[float, Field(description="what the implied table gives for that fraction")]

    @property
    def fraction(self) -> float:
        """The fraction of the pairs that occur."""
        return self.occurring / self.pairs

    @property
    def lift(self) -> float:
        """How many occur for each one that is expected."""
        return self.occurring / self.expected


class Part(experiment.Result):
    """One part of the text, and three groups of pairs by what was seen elsewhere in the part."""

    contexts: Annotated[int, Field(description="m")]
    entropy: Annotated[float, Field(description="of the part's table, nats")]
    floor: Annotated[float, Field(description="the entropy of the implied table, nats")]
    added: Annotated[Group, Field(description="in the implied table")]
    both: Annotated[Group, Field(description="not in it, though the token has followed both words")]
    one: Annotated[Group, Field(description="the token has followed one of the words")]
    neither: Annotated[Group, Field(description="the token has followed neither word")]


class Result(experiment.Result):
    """All parts."""

    parts: tuple[Part, ...]
    text_sha256: Annotated[str, Field(description="hash of the whole text")]

    @property
    def occurring(self) -> pd.DataFrame:
        """The fraction of pairs that occur in the rest of the text: a row for each part."""
        return self._by_group("fraction")

    @property
    def lift(self) -> pd.DataFrame:
        """How many pairs occur for each one that is expected: a row for each part."""
        return self._by_group("lift")

    def _by_group(self, value: str) -> pd.DataFrame:
        rows = [
            {name: getattr(getattr(part, name), value) for name in GROUPS} for part in self.parts
        ]
        return pd.DataFrame(rows)

    def ratio(self, other: str) -> Effect:
        """The lift of added pairs over that of another group."""
        table = self.lift
        return mean_effect(np.array(table["added"] / table[other]))

    @property
    def mass_ratio(self) -> Effect:
        """What the implied tables give to all added pairs over the fraction of held-out tokens."""
        return mean_effect([part.added.implied / part.added.held_out for part in self.parts])


def run(plan: Plan) -> Result:
    """Compare the pairs that the implied table of each part adds with the rest of the text.

    Parameters
    ----------
    plan
        the text and its parts.

    Returns
    -------
    Result
        for each part the pairs of a context and a token, in groups, and how many of them occur.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError
        as `read_tokens`; parts that are longer than their distance, or too short for any pair of a
        group to occur.

    Notes
    -----
    4 s for each part of 4,000 words with V = 128.

    Examples
    --------
    >>> from ntpcompanion.experiments import unseen_successors
    >>> sizes = {"num_words": 6000, "vocab_size": 32, "parts": 3, "part_words": 800}
    >>> result = unseen_successors.run(unseen_successors.Plan(**sizes))
    >>> bool((result.occurring.added > result.occurring.neither).all())
    True
    """
    tokens, sha256 = read_tokens(plan)
    distance = len(tokens) // plan.parts
    if plan.part_words > distance:
        raise ValueError(
            f"`part_words` must lie in 10 … {distance}, the words of the text over `parts`, got "
            f"{plan.part_words}."
        )
    starts = range(0, distance * plan.parts, distance)
    parts = tuple(
        _compare(tokens[a : a + plan.part_words], (tokens[:a], tokens[a + plan.part_words :]), plan)
        for a in starts
    )
    for number, part in enumerate(parts, 1):
        if empty := [name for name in GROUPS if not getattr(part, name).occurring]:
            raise ValueError(
                f"`part_words` = {plan.part_words} is too few: in part {number} no pair of the "
                f"group {empty[0]!r} occurs in the rest of the text. Take longer parts or more "
                "words."
            )
    return Result(parts=parts, text_sha256=sha256)


def _compare(part: Int[np.ndarray, " n"], rest: Sequence[np.ndarray], plan: Plan) -> Part:
    V = plan.vocab_size
    counts = count_contexts(part, V, [plan.context_length])[0]
    first, second = counts.contexts.T
    embeddings = pair_embeddings(first, second, V)
    implied = implied_table(ContextTable(embeddings, counts.distributions, counts.frequency))
    table, seen = implied.original, implied.original.support.toarray()
    followed = embeddings.T @ seen > 0  # a word at its position, and a token
    after = followed[first].astype(int) + followed[V + second]
    held_out = _count(first, second, rest, V)
    new = implied.support.mask & ~seen
    groups = {
        "added": new,
        "both": (after == 2) & ~seen & ~new,
        "one": after == 1,
        "neither": after == 0,
    }
    visits = held_out.sum(axis=1, keepdims=True)
    frequency = np.bincount(np.concatenate(rest), minlength=V) / sum(map(len, rest))
    expected = 1 - (1 - frequency) ** visits
    counted = (visits > 0) & (np.arange(V) != UNKNOWN)
    sums = {
        "occurring": held_out > 0,
        "expected": expected,
        "held_out": held_out / held_out.sum(),
        "implied": implied.next_token * visits / visits.sum(),
    }
    return Part(
        contexts=table.num_contexts,
        entropy=table.entropy,
        floor=implied.entropy,
        **{name: _group(mask & counted, sums) for name, mask in groups.items()},
    )


def _count(
    first: Int[np.ndarray, " m"], second: Int[np.ndarray, " m"], texts: Sequence[np.ndarray], V: int
) -> Float[np.ndarray, "m V"]:
    """How often each token follows each context in the texts."""
    row = np.full((V, V), -1)
    row[first, second] = np.arange(len(first))
    counts = np.zeros((len(first), V))
    for text in texts:
        contexts, tokens = row[text[:-2], text[1:-1]], text[2:]
        known = contexts >= 0
        np.add.at(counts, (contexts[known], tokens[known]), 1.0)
    return counts


def _group(mask: Bool[np.ndarray, "m V"], sums: Mapping[str, np.ndarray]) -> Group:
    values = {name: values[mask].sum().item() for name, values in sums.items()}
    return Group(pairs=int(mask.sum()), **values)
