"""A part of a text in the tokens of a language model: its most frequent contexts with their
successors, and rows to fine-tune on.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from ntpcompanion.experiments import experiment
from ntpcompanion.languages.pretrained.load_models import load_causal_model, special_token
from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.languages.text.counting import count_contexts
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream


class TextPart(experiment.Plan):
    """One of several equal parts of a text, and a language model that reads it."""

    source: Annotated[
        str, Field(min_length=1, description="of the model and its tokenizer, as in `load_opt`")
    ] = "smollm2"
    text: Annotated[
        str, Field(min_length=1, description="path of a UTF-8 text, or a module with `topics`")
    ] = "pydoc_data.topics"
    segments: Annotated[int, Field(ge=1, description="equal parts of the text")]
    segment: Annotated[int, Field(ge=0, description="which of them, from 0 on")]

    def tokens(self, tokenizer: Any, content: str) -> Int[np.ndarray, " n"]:
        """Those of the part. Raises ValueError for a segment that does not exist."""
        if self.segment >= self.segments:
            raise ValueError(
                f"`segment` must be below `segments` = {self.segments}, got {self.segment}."
            )
        tokens = tokenizer(content, add_special_tokens=False, verbose=False)["input_ids"]
        return np.array_split(np.array(tokens), self.segments)[self.segment]


class ModelText(TextPart):
    """A part of a text that is read context by context."""

    context_length: Annotated[int, Field(ge=1, description="tokens of a context")]
    contexts: Annotated[int, Field(ge=2, description="m, the most frequent ones")]
    start: Annotated[
        str | None, Field(description="token before each context; None for the model's own")
    ] = None
    seed: Annotated[int, Field(ge=0, description="of rotations, draws and permutations")]


@dataclass(frozen=True, eq=False)
class ModelContexts:
    """m contexts of a text, most frequent first, and the V tokens of the model that follow any of
    them, with the `counts` of each pair; `text_sha256` is of the whole text.
    """

    contexts: Int[np.ndarray, "m t"]
    successors: Int[np.ndarray, " V"]
    counts: Int[np.ndarray, "m V"]
    text_sha256: str

    def table(self, embeddings: Float[np.ndarray, "m d"]) -> ContextTable:
        """With the frequencies of the contexts among these, and the distributions of the text."""
        return table_of_counts(embeddings, self.counts)

    def exchange(
        self, rng: np.random.Generator, *, same_last: bool = False
    ) -> Int[np.ndarray, "m V"]:
        """The counts with the rows of the contexts exchanged at random: among all of them, or among
        those that end with the same token, so that the last token tells as much as before.
        """
        last = self.contexts[:, -1] if same_last else np.zeros(len(self.contexts), dtype=int)
        counts = self.counts.copy()
        for token in np.unique(last):
            rows = np.flatnonzero(last == token)
            counts[rows] = self.counts[rng.permutation(rows)]
        return counts


def table_of_counts(
    embeddings: Float[np.ndarray, "m d"], counts: Int[np.ndarray, "m V"]
) -> ContextTable:
    """Contexts with the frequencies and distributions that the counts give."""
    times = counts.sum(axis=1)
    return ContextTable(embeddings, counts / times[:, None], times / times.sum())


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model, its tokenizer, and the token that it reads before each context."""

    model: nn.Module
    tokenizer: Any
    bos: int


def load(plan: Any) -> LoadedModel:
    """What a plan with `source` and `start` names. Raises what `load_causal_model` raises, and
    ValueError for a `start` that is no token.
    """
    model, tokenizer = load_causal_model(plan.source)
    if plan.start is None:
        return LoadedModel(model, tokenizer, special_token(model, plan.source, "bos"))
    start = tokenizer.get_vocab().get(plan.start)
    if start is None:
        raise ValueError(f"`start` = {plan.start!r} is not a token of {plan.source!r}.")
    return LoadedModel(model, tokenizer, start)


def read_contexts(plan: ModelText, tokenizer: Any) -> ModelContexts:
    """Split the text into tokens and count. Raises ValueError for a segment that does not exist,
    and for a part of the text with too few contexts.
    """
    text = read_text(plan.text)
    part = plan.tokens(tokenizer, text.content)
    counts = count_contexts(part, int(part.max()) + 1, [plan.context_length])[0]
    if counts.num_contexts < plan.contexts:
        raise ValueError(
            f"`contexts` must be at most {counts.num_contexts}, the contexts of this part of the "
            f"text, got {plan.contexts}."
        )
    frequent = np.argsort(-counts.frequency, kind="stable")[: plan.contexts]
    chosen = counts.counts[frequent]
    successors = np.unique(chosen.indices).astype(np.int64)
    dense = chosen[:, successors].toarray()
    return ModelContexts(counts.contexts[frequent], successors, dense, text.sha256)


class TextRows(TextPart):
    """How many rows of a part of a text are read."""

    length: Annotated[int, Field(ge=2, description="tokens of a row")]
    batch_size: Annotated[int, Field(ge=1, description="rows of a step")]
    steps: Annotated[int, Field(ge=1, description="of the optimizer, each on other rows")]
    held_out: Annotated[int, Field(ge=1, description="rows at the end of the part")]
    seed: Annotated[int, Field(ge=0, description="of the order of rows, and of draws")]


def split_rows(
    plan: TextRows, tokenizer: Any, content: str, calibration: int = 0
) -> tuple[Int[Tensor, "n length"], Int[Tensor, "held length"]]:
    """The rows of one part of a text to train on, and its last `held_out` rows, with a row between.
    Raises ValueError for a segment that does not exist, and for too few rows to read each once, or
    to have so many for calibration.
    """
    part = plan.tokens(tokenizer, content)
    count = len(part) // plan.length
    rows = torch.from_numpy(part[: count * plan.length].reshape(count, plan.length)).long()
    training, needed = count - plan.held_out - 1, plan.steps * plan.batch_size
    if training < max(needed, calibration):
        raise ValueError(
            f"`steps` = {plan.steps} of {plan.batch_size} rows and {calibration} for "
            f"calibration need more than the {max(training, 0)} training rows of this part."
        )
    return rows[:training], rows[count - plan.held_out :]


def shuffled(plan: TextRows, training: Int[Tensor, "n length"]) -> Int[np.ndarray, " read"]:
    """Which rows are read, in their order."""
    order = stream(plan.seed, "order").permutation(len(training))
    return order[: plan.steps * plan.batch_size]
