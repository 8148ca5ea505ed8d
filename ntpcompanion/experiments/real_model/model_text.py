"""The most frequent contexts of a text, in the tokens of a language model, and their successors."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float, Int
from pydantic import Field
from torch import nn

from ntpcompanion.experiments import experiment
from ntpcompanion.languages.pretrained.hub import load_causal_model, special_token
from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.languages.text.counting import count_contexts
from ntpcompanion.linear.tables.contexts import ContextTable


class ModelText(experiment.Plan):
    """One of several equal parts of a text, read by a language model context by context."""

    source: Annotated[
        str, Field(min_length=1, description="of the model and its tokenizer, as in `load_opt`")
    ] = "smollm2"
    text: Annotated[
        str, Field(min_length=1, description="path of a UTF-8 text, or a module with `topics`")
    ] = "pydoc_data.topics"
    segments: Annotated[int, Field(ge=1, description="equal parts of the text")]
    segment: Annotated[int, Field(ge=0, description="which of them, from 0 on")]
    context_length: Annotated[int, Field(ge=1, description="tokens of a context")]
    contexts: Annotated[int, Field(ge=2, description="m, the most frequent ones")]
    seed: Annotated[int, Field(ge=0, description="of rotations, draws and permutations")]


@dataclass(frozen=True, eq=False)
class ModelContexts:
    """m contexts of a text and the V tokens that follow any of them.

    Fields
    ------
    contexts
        (m, t), tokens of the model.
    successors
        (V,), tokens of the model.
    counts
        (m, V), how often each follows each.
    text_sha256
        hash of the whole text.
    """

    contexts: Int[np.ndarray, "m t"]
    successors: Int[np.ndarray, " V"]
    counts: Int[np.ndarray, "m V"]
    text_sha256: str

    def table(self, embeddings: Float[np.ndarray, "m d"]) -> ContextTable:
        """With the frequencies of the contexts among these, and the distributions of the text."""
        times = self.counts.sum(axis=1)
        return ContextTable(embeddings, self.counts / times[:, None], times / times.sum())

    def merge_rare(self, vocab_size: int) -> Int[np.ndarray, "m vocab"]:
        """The counts of the `vocab_size` − 1 successors that follow most contexts, and of all
        others together. Raises ValueError if there are not as many.
        """
        if vocab_size > len(self.successors):
            raise ValueError(
                f"`vocab_size` must be at most {len(self.successors)}, the successors of these "
                f"contexts, got {vocab_size}."
            )
        order = np.argsort(-(self.counts > 0).sum(axis=0), kind="stable")
        frequent, rare = order[: vocab_size - 1], order[vocab_size - 1 :]
        return np.column_stack([self.counts[:, frequent], self.counts[:, rare].sum(axis=1)])


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model, its tokenizer, and the token with which its texts begin."""

    model: nn.Module
    tokenizer: Any
    bos: int


def load(plan: ModelText) -> LoadedModel:
    """Raises what `load_causal_model` raises."""
    model, tokenizer = load_causal_model(plan.source)
    return LoadedModel(model, tokenizer, special_token(model, plan.source, "bos"))


def read_contexts(plan: ModelText, tokenizer: Any) -> ModelContexts:
    """Split the text into tokens and count.

    Raises
    ------
    ValueError
        a segment that there is not, a text with fewer contexts.
    """
    if plan.segment >= plan.segments:
        raise ValueError(
            f"`segment` must be below `segments` = {plan.segments}, got {plan.segment}."
        )
    text = read_text(plan.text)
    tokens = np.array(tokenizer(text.content, add_special_tokens=False, verbose=False)["input_ids"])
    part = np.array_split(tokens, plan.segments)[plan.segment]
    counts = count_contexts(part, int(tokens.max()) + 1, [plan.context_length])[0]
    if counts.num_contexts < plan.contexts:
        raise ValueError(
            f"`contexts` must be at most {counts.num_contexts}, the contexts of this part of the "
            f"text, got {plan.contexts}."
        )
    frequent = np.sort(np.argsort(-counts.frequency, kind="stable")[: plan.contexts])
    chosen = counts.counts[frequent]
    successors = np.unique(chosen.indices).astype(np.int64)
    dense = chosen[:, successors].toarray()
    return ModelContexts(counts.contexts[frequent], successors, dense, text.sha256)
