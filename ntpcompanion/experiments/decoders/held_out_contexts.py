"""How do decoders rank the successors of contexts of a text that they were not trained on?"""

from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from pydantic import Field

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.experiments.thresholds.text_plan import TextPlan, read_tokens
from ntpcompanion.languages.text.counting import count_contexts
from ntpcompanion.linear.dynamics.descent import descend_from_zero
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, paired_effect

INPUTS = ("text",)  # fields of a plan that name files
WAYS = ("svm", "equal", "squares", "stopped", "descended", "unigram", "bigram")
HELD_OUT = 5  # one of so many contexts
WIDTH = 2  # dimensions over contexts
SNAPSHOTS = 20  # of gradient descent


class Plan(TextPlan):
    """The last parts of the beginning of a text; the states are those of a random layer."""

    parts: Annotated[int, Field(ge=2, description="parts of the text")]
    part_words: Annotated[int, Field(ge=20, description="words of a part")]
    steps: Annotated[int, Field(ge=20, description="of gradient descent with step 1/(2L)")]
    seed: Annotated[int, Field(ge=0, description="of the layer, and of what is held out")]


class Part(experiment.Result):
    """Fractions of pairs of a successor and another token that stand in the right order, means over
    the contexts held out.
    """

    contexts: Annotated[int, Field(description="trained on")]
    svm: Annotated[float, Field(description="by the next-token SVM")]
    equal: Annotated[float, Field(description="by the limit of label smoothing")]
    squares: Annotated[float, Field(description="by least squares of least norm")]
    stopped: Annotated[float, Field(description="by the best snapshot of descent")]
    descended: Annotated[float, Field(description="by the last snapshot")]
    unigram: Annotated[float, Field(description="by frequency in training")]
    bigram: Annotated[float, Field(description="by frequency after the last word in training")]


class Result(experiment.Result):
    """All parts."""

    parts: tuple[Part, ...]
    text_sha256: Annotated[str, Field(description="hash of the whole text")]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each part."""
        return table_of(self.parts)

    def more(self, one: str, other: str) -> Effect:
        """The fraction by one way less that by another, paired by part."""
        return paired_effect(self.table[one], self.table[other])


def run(plan: Plan) -> Result:
    """Hold out a fifth of the contexts of each part of a text, train on the rest, and rank.

    Parameters
    ----------
    plan
        the text and its parts.

    Returns
    -------
    Result
        how each decoder orders the tokens after the contexts held out.

    Raises
    ------
    ValueError, FileNotFoundError, ImportError
        as `read_tokens` and `count_contexts`; parts that are longer than the text, or random states
        that depend on each other.

    Notes
    -----
    The state of a context is ReLU(R x), with the one-hot words x and a Gaussian R of twice as many
    rows as there are contexts. With independent states margins can all be equal, so the limit of
    label smoothing is the decoder of least norm with that. 3 s for a part of 600 words with V = 64.

    Examples
    --------
    >>> from ntpcompanion.experiments import held_out_contexts
    >>> sizes = {"num_words": 600, "vocab_size": 12, "context_length": 2, "part_words": 200}
    >>> plan = held_out_contexts.Plan(**sizes, parts=2, steps=100, seed=0)
    >>> found = held_out_contexts.run(plan)
    >>> len(found.parts), bool(found.table.bigram.between(0, 1).all())
    (2, True)
    """
    tokens, sha256 = read_tokens(plan)
    first = len(tokens) - plan.parts * plan.part_words
    if first < 0:
        raise ValueError(
            f"`part_words` must be at most {len(tokens) // plan.parts}, the words of the text over "
            f"`parts`, got {plan.part_words}."
        )
    parts = np.split(tokens[first:], plan.parts)
    compared = tuple(_compare(part, plan, number) for number, part in enumerate(parts))
    return Result(parts=compared, text_sha256=sha256)


def _compare(part: np.ndarray, plan: Plan, number: int) -> Part:
    V, rng = plan.vocab_size, stream(plan.seed, f"part {number}")
    text = count_contexts(part, V, [plan.context_length])[0]
    m, counts = text.num_contexts, text.counts.toarray()
    words = np.eye(V)[text.contexts].reshape(m, -1)
    layer = rng.standard_normal((words.shape[1], WIDTH * m)) / np.sqrt(plan.context_length)
    states = np.maximum(words @ layer, 0)
    new, seen = np.split(rng.permutation(m), [m // HELD_OUT])
    p, weight = text.distributions.toarray()[seen], text.frequency[seen]
    table = ContextTable(states[seen], p, weight / weight.sum())
    if np.linalg.matrix_rank(table.embeddings) < len(seen):
        raise ValueError(f"`seed` = {plan.seed} gives states that depend on each other. Change it.")
    logits = {name: states[new] @ W.T for name, W in _decoders(table).items()}
    logits |= _frequencies(text.contexts[:, -1], counts, seen, new)
    successors = counts[new] > 0
    course = descend_from_zero(table, plan.steps, SNAPSHOTS)[1:]
    descended = [_right(states[new] @ W.T, successors) for W in course]
    return Part(
        contexts=len(seen),
        stopped=max(descended),
        descended=descended[-1],
        **{name: _right(values, successors) for name, values in logits.items()},
    )


def _decoders(table: ContextTable) -> dict[str, Float[np.ndarray, "V d"]]:
    """In closed form where margins can all be equal, but for the SVM."""
    svm = solve_ntp_svm(table, tol=1e-4).weights
    assert svm is not None  # independent states are separable
    p, inverse = table.next_token, np.linalg.pinv(table.embeddings)
    tied = (p > 0) - (p > 0).mean(axis=1, keepdims=True)
    return {"svm": svm, "squares": (inverse @ p).T, "equal": (inverse @ tied).T}


def _frequencies(
    last: Int[np.ndarray, " m"],
    counts: Int[np.ndarray, "m V"],
    seen: Int[np.ndarray, " k"],
    new: Int[np.ndarray, " n"],
) -> dict[str, Float[np.ndarray, "n V"]]:
    """Scores of tokens by their frequency in training, and by that after the last word of a
    context, where ties are decided by the first.
    """
    V = counts.shape[1]
    unigram, after = counts[seen].sum(axis=0), np.zeros((V, V))
    np.add.at(after, last[seen], counts[seen])
    fraction = unigram / (1 + unigram.sum())  # less than one count
    return {"unigram": np.tile(fraction, (len(new), 1)), "bigram": after[last[new]] + fraction}


def _right(logits: Float[np.ndarray, "n V"], successors: Bool[np.ndarray, "n V"]) -> float:
    """Of the pairs of a successor and another token, those in the right order; ties count half.
    Contexts that every token follows do not count.
    """
    fractions = []
    for row, mask in zip(logits, successors, strict=True):
        if mask.all():
            continue
        differences = row[mask][:, None] - row[~mask]
        fractions.append(0.5 + 0.5 * np.sign(differences).mean())
    return float(np.mean(fractions))
