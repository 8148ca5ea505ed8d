"""Do pauses add vectors to each layer of a decoder, and nothing else? Counted on one decoder."""

from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.networks.build_network import parameters_of
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.planning.pause_counts import vectors_per_layer
from ntpcompanion.planning.pauses import PauseDecoder, append_pauses
from ntpcompanion.randomness import torch_stream

WORDS = 20


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
    """Counts, and a difference that is 0 but for rounding."""

    rows: Annotated[float, Field(description="parameters of <pause>, over the width")]
    vectors: Annotated[
        tuple[tuple[int, ...], ...], Field(description="of each layer, for 0 … M pauses")
    ]
    single_error: Annotated[
        float, Field(description="largest change of a vector of the prefix by M pauses, float32")
    ]


def run(plan: Plan) -> Result:
    """Count what pauses add to a decoder.

    Returns parameters, vectors of each layer, and how far a prefix is changed by rounding. Cost
    that of a forward pass for each number of pauses.

    Examples
    --------
    >>> from ntpcompanion.experiments.planning import pause_width
    >>> found = pause_width.run(pause_width.Plan(width=4, layers=2, most_pauses=3, seed=0))
    >>> found.rows, found.vectors[0], found.vectors[3]
    (1.0, (7, 7), (10, 10))
    """
    decoder = plan.decoder().double()
    shape = (plan.sequences, plan.prefix_length)
    prefix = torch.randint(WORDS, shape, generator=torch_stream(plan.seed, "words"))
    paused = [append_pauses(prefix, pauses) for pauses in range(plan.most_pauses + 1)]
    return Result(
        rows=(parameters_of(decoder) - parameters_of(decoder.model)) / plan.width,
        vectors=tuple(vectors_per_layer(decoder, tokens) for tokens in paused),
        single_error=_prefix_change(plan.decoder(), prefix, paused[-1]),
    )


def _prefix_change(decoder: PauseDecoder, prefix: Tensor, longer: Tensor) -> float:
    with torch.no_grad():
        alone, vectors = decoder.features(prefix), decoder.features(longer)
    return float((vectors[:, : alone.shape[1]] - alone).abs().max())
