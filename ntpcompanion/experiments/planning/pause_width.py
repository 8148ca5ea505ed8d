"""Do pauses add vectors to each layer of a decoder, and nothing else? Counted on one decoder."""

from typing import Annotated

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.networks.build_network import parameters_of
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.planning.pause_counts import trained_rows, vectors_per_layer
from ntpcompanion.planning.pause_loss import insert_pauses, pause_masked_loss
from ntpcompanion.planning.pauses import PAUSE, PauseDecoder, append_pauses
from ntpcompanion.randomness import torch_stream

WORDS = 20
MOVED = 100  # added to the logit of the first word where the next token is a pause


class Plan(experiment.Plan):
    """A decoder with its initial parameters, and random prefixes with up to M pauses."""

    width: Annotated[int, Field(ge=2, description="of the vectors")] = 16
    layers: Annotated[int, Field(ge=1, description="of the decoder")] = 3
    prefix_length: Annotated[int, Field(ge=2, description="words before the pauses")] = 6
    most_pauses: Annotated[int, Field(ge=1, description="M, the largest number of pauses")] = 8
    sequences: Annotated[int, Field(ge=1, description="random prefixes")] = 20
    seed: Annotated[int, Field(ge=0, description="of the decoder and the prefixes")]

    @property
    def shape(self) -> ModelPlan:
        """The decoder, for sequences with all pauses and one word after them."""
        longest = self.prefix_length + self.most_pauses + 1
        return ModelPlan(
            "transformer",
            self.width,
            self.layers,
            inner=4 * self.width,
            words=WORDS,
            positions=longest,
        )

    def decoder(self) -> PauseDecoder:
        """In single precision."""
        return PauseDecoder(self.shape, self.seed, deviation=self.width**-0.5)


class Result(experiment.Result):
    """Counts with 0 … M pauses, and differences that are 0 but for rounding."""

    rows: Annotated[float, Field(description="parameters of <pause>, over the width")]
    vectors: Annotated[
        tuple[tuple[int, ...], ...], Field(description="of each layer, for 0 … M pauses")
    ]
    positions: Annotated[
        tuple[int, ...], Field(description="rows of positions that learn, for 0 … M pauses")
    ]
    prefix_error: Annotated[
        float, Field(description="largest change of a vector of the prefix, double precision")
    ]
    single_error: Annotated[float, Field(description="the same, single precision, M pauses")]
    masked_error: Annotated[
        float, Field(description="change of the gradient by the logits before pauses")
    ]
    sum_error: Annotated[
        float, Field(description="of the gradient, from the mean over its targets one by one")
    ]

    @property
    def width_error(self) -> int:
        """Largest difference of the vectors of a layer from those without pauses and M more."""
        counts = np.array(self.vectors)
        expected = counts[0, 0] + np.arange(len(counts))
        return int(np.abs(counts - expected[:, None]).max())

    @property
    def depth_error(self) -> int:
        """Largest number of layers that pauses add or remove."""
        return max(abs(len(layers) - len(self.vectors[0])) for layers in self.vectors)

    @property
    def positions_per_pause(self) -> float:
        """Rows of the table of positions that each pause trains, mean over M."""
        more = np.array(self.positions[1:]) - self.positions[0]
        return float(np.mean(more / np.arange(1, len(self.positions))))


def run(plan: Plan) -> Result:
    """Count what pauses add to a decoder, and check what the loss of a text with pauses trains.

    Returns counts of vectors, layers and rows, and errors of what is proved of pauses. Cost that of
    a backward pass for each word, 1 s at the default sizes.

    Examples
    --------
    >>> from ntpcompanion.experiments.planning import pause_width
    >>> found = pause_width.run(pause_width.Plan(width=4, layers=2, most_pauses=3, seed=0))
    >>> found.rows, found.vectors[3], found.width_error, found.depth_error
    (1.0, (10, 10), 0, 0)
    """
    decoder = plan.decoder().double()
    shape = (plan.sequences, plan.prefix_length)
    prefix = torch.randint(WORDS, shape, generator=torch_stream(plan.seed, "words"))
    generator = torch_stream(plan.seed, "next")
    words = torch.randint(WORDS, (plan.sequences, 1), generator=generator)
    paused = [append_pauses(prefix, pauses) for pauses in range(plan.most_pauses + 1)]
    mixed = insert_pauses(prefix, plan.most_pauses, torch_stream(plan.seed, "pauses"))
    return Result(
        rows=(parameters_of(decoder) - parameters_of(decoder.model)) / plan.width,
        vectors=tuple(vectors_per_layer(decoder, tokens) for tokens in paused),
        positions=tuple(
            trained_rows(decoder, torch.cat([tokens, words], dim=1)).positions for tokens in paused
        ),
        prefix_error=max(_prefix_change(decoder, prefix, tokens) for tokens in paused[1:]),
        single_error=_prefix_change(plan.decoder(), prefix, paused[-1]),
        masked_error=_masked_error(decoder, mixed),
        sum_error=_sum_error(decoder, mixed),
    )


def _prefix_change(decoder: PauseDecoder, prefix: Tensor, longer: Tensor) -> float:
    with torch.no_grad():
        alone, vectors = decoder.features(prefix), decoder.features(longer)
    return float((vectors[:, : alone.shape[1]] - alone).abs().max())


def _masked_error(decoder: PauseDecoder, mixed: Int[Tensor, "batch length"]) -> float:
    logits = decoder(mixed)
    moved = torch.zeros_like(logits)  # in one word: all at once would move no probability
    moved[:, :-1, 0] = MOVED * (mixed[:, 1:] == PAUSE)
    return _apart(_gradient(decoder, mixed), _gradient(decoder, mixed, logits + moved))


def _sum_error(decoder: PauseDecoder, mixed: Int[Tensor, "batch length"]) -> float:
    parameters, logits = list(decoder.parameters()), decoder(mixed)
    summed = [torch.zeros_like(p) for p in parameters]
    targets = (mixed[:, 1:] != PAUSE).nonzero().tolist()
    for row, t in targets:
        loss = F.cross_entropy(logits[row, t], mixed[row, t + 1])
        alone = torch.autograd.grad(loss, parameters, retain_graph=True)
        for total, gradient in zip(summed, alone, strict=True):
            total += gradient / len(targets)
    return _apart(_gradient(decoder, mixed), summed)


def _gradient(decoder: PauseDecoder, mixed: Tensor, logits: Tensor | None = None) -> list[Tensor]:
    loss = pause_masked_loss(decoder(mixed) if logits is None else logits, mixed)
    return list(torch.autograd.grad(loss, list(decoder.parameters())))


def _apart(first: list[Tensor], second: list[Tensor]) -> float:
    return max(float((a - b).abs().max()) for a, b in zip(first, second, strict=True))
