"""Masked sentences for several runs at once, each run with a stream of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ntpcompanion.checks import Length, checked
from ntpcompanion.languages.language import Language
from ntpcompanion.mlm.data.masked_sentences import draw_batch
from ntpcompanion.mlm.evaluation.evaluate import hidden_conditional
from ntpcompanion.randomness import torch_stream

STEPS_AT_ONCE = 64  # that are drawn together: fewer and larger calls, and the stream depends on it
SENTENCES_AT_ONCE = 2**14  # whose conditional distributions, at all positions, are in memory

Labels = Literal["drawn", "exact"]


@dataclass(frozen=True, eq=False)
class StackedBatch:
    """One batch for each of several runs: tokens (runs, batch, positions) with one MASK each, its
    position, and `targets`, the distribution of the hidden word: all on the drawn one, or Pr(· |
    x₋ₜ).
    """

    tokens: Int[Tensor, "runs batch positions"]
    positions: Int[Tensor, "runs batch 1"]
    targets: Float[Tensor, "runs batch words"]

    def of_runs(self, rows: Int[Tensor, " models"]) -> "StackedBatch":
        """The batches of some runs, in this order; one run may occur several times."""
        return StackedBatch(*(getattr(self, field.name)[rows] for field in fields(self)))


@checked
def draw_steps(
    language: Language,
    seeds: Annotated[Sequence[int], Length(1)],
    name: str,
    chunk: int,
    *,
    batch_size: int,
    positions: int,
    labels: Labels,
    device: torch.device | str = "cpu",
) -> list[StackedBatch]:
    """The batches of steps 64 · chunk, 64 · chunk + 1, … of each run: those of one seed do not
    depend on the other seeds, so that runs of one seed see the same sentences in the same order. A
    CPU and a GPU draw others. Exact `labels` are conditional distributions: the same expected
    gradient without the noise of labels.
    """
    sentences = STEPS_AT_ONCE * batch_size
    drawn = [
        draw_batch(
            language, sentences, positions, 0.0, torch_stream(seed, f"{name} {chunk}", device)
        )
        for seed in seeds
    ]
    tokens, masked_positions, words = (
        torch.cat([getattr(one, field) for one in drawn])
        for field in ("tokens", "positions", "targets")
    )
    targets = _targets(language, tokens, masked_positions, words, labels)
    shape = (len(seeds), STEPS_AT_ONCE, batch_size)
    columns = (x.unflatten(0, shape).unbind(1) for x in (tokens, masked_positions, targets))
    return [StackedBatch(*step) for step in zip(*columns, strict=True)]


def _targets(
    language: Language, tokens: Tensor, masked_positions: Tensor, words: Tensor, labels: Labels
) -> Tensor:
    if labels == "drawn":
        return torch.nn.functional.one_hot(words[:, 0], language.vocab_size).float()
    pieces = zip(
        *(x.split(SENTENCES_AT_ONCE) for x in (tokens, masked_positions, words)), strict=True
    )
    return torch.cat([hidden_conditional(language, *piece).float() for piece in pieces])
