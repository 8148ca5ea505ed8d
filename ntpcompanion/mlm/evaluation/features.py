"""The contextual vectors of a masked language model as features of a sentence."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ntpcompanion.mlm.data.labelled_examples import rows_in_batches
from ntpcompanion.mlm.data.special_tokens import padded_to
from ntpcompanion.networks.language_model import LanguageModel


def token_features(
    model: LanguageModel, tokens: Int[Tensor, "n length"]
) -> Float[Tensor, "n dims"]:
    """The contextual vectors of all positions, padded ones as they are, in one row of positions ·
    width numbers; without CLS.
    """
    positions = model.plan.positions
    return model.features(padded_to(tokens, positions))[:, -positions:].flatten(1)


def extract_features(
    model: LanguageModel,
    tokens: Int[Tensor, "n length"],
    *,
    batch: int = 512,
    projection: Float[Tensor, "dims fewer"] | None = None,
) -> Float[Tensor, "n columns"]:
    """The token features of many sentences, `batch` at a time, each times `projection` if there is
    one; on the device of the model.

    Memory: the result, and the network on one batch. Raises ValueError for a sentence that is too
    long, or a batch below 1.
    """

    def features(part: Tensor) -> Tensor:
        return token_features(model, part.to(model.bias.device))

    return rows_in_batches(
        features, tokens, model.bias, model.plan.positions * model.plan.width, batch, projection
    )


def gaussian_projection(
    dims: int, fewer: int, generator: torch.Generator
) -> Float[Tensor, "dims fewer"]:
    """A matrix of N(0, 1/fewer) entries: it keeps squared lengths on average. Liu et al. 2023, A.3,
    goes to 512 dimensions.
    """
    return torch.randn(dims, fewer, generator=generator, device=generator.device) / fewer**0.5
