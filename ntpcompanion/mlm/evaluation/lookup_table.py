"""The lookup table: a model whose features are the exact conditionals, of least loss and with
nothing learned beside them.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ntpcompanion.languages.language import Language
from ntpcompanion.mlm.data.labelled_examples import rows_in_batches
from ntpcompanion.mlm.data.special_tokens import padded_to


def lookup_features(
    language: Language,
    tokens: Int[Tensor, "n length"],
    positions: int,
    *,
    batch: int = 256,
    projection: Float[Tensor, "dims fewer"] | None = None,
) -> Float[Tensor, "n columns"]:
    """Pr(· | x₋ₜ) for every position t in one row of positions · vocab_size numbers, zeros at
    padded positions: features of a perfect model with identity output embedding (Liu et al. 2023,
    section 3.3). `projection` multiplies each row, to save memory. Raises ValueError for a sentence
    that is too long or of probability 0, a batch below 1.
    """

    def conditionals(part: Tensor) -> Tensor:
        return language.masked_conditional(padded_to(part, positions)).flatten(1).float()

    return rows_in_batches(
        conditionals,
        tokens,
        torch.empty(0, device=tokens.device),
        positions * language.vocab_size,
        batch,
        projection,
    )
