"""Masked sentences, drawn from an exact language where they are used; no sentence is kept for
another step.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Literal

import torch
from jaxtyping import Int
from torch import Tensor

from ntpcompanion.checks import Device, Range, Size, checked
from ntpcompanion.languages.language import PADDING, Language
from ntpcompanion.mlm.data.special_tokens import MASK, padded_to
from ntpcompanion.validation import as_integer

Use = Literal["training", "evaluation"]


@dataclass(frozen=True)
class MaskedBatch:
    """Sentences with masks.

    Fields
    ------
    tokens
        (batch, positions) the sentences, MASK where a word is hidden, PADDING after the last word.
    positions
        (batch, masks) the masked positions, drawn without replacement.
    targets
        (batch, masks) the hidden words; PADDING where a short sentence has fewer masks than others.
    """

    tokens: Int[Tensor, "batch positions"]
    positions: Int[Tensor, "batch masks"]
    targets: Int[Tensor, "batch masks"]


def mask(
    tokens: Int[Tensor, "batch positions"], fraction: float, generator: torch.Generator
) -> MaskedBatch:
    """Hide max(1, round(share · length)) words of each sentence, all subsets of that size equally
    likely.
    """
    words = tokens != PADDING
    keys = (
        torch.rand(tokens.shape, generator=generator, device=generator.device)
        .to(tokens.device)
        .masked_fill(~words, -1.0)
    )
    positions = keys.topk(max(1, round(fraction * tokens.shape[1])), 1).indices
    number = (fraction * words.sum(1, keepdim=True)).round().clamp_min(1)
    used = torch.arange(positions.shape[1], device=tokens.device) < number
    hidden = tokens.gather(1, positions)
    return MaskedBatch(
        tokens.scatter(1, positions, torch.where(used, MASK, hidden)),
        positions,
        torch.where(used, hidden, PADDING),
    )


@checked
def draw_batch(
    language: Language,
    sentences: Size,
    positions: Size,
    fraction: Annotated[float, Range(0, 1)],
    generator: torch.Generator,
) -> MaskedBatch:
    """New sentences with new masks, on the device of the generator.

    Parameters
    ----------
    language
        that draws the sentences.
    sentences
        how many.
    positions
        columns; shorter sentences are padded with −1 on the right.
    fraction
        of the words that is masked, see `mask`; 0 for one word a sentence.
    generator
        draws sentences and masks.

    Returns
    -------
    MaskedBatch
        `tokens` with masks −2, the `positions` of the masks, and the hidden words `targets`.

    Raises
    ------
    ValueError
        a sentence longer than `positions`, what is not a language or generator, a number out of its
        range.

    Examples
    --------
    >>> from ntpcompanion.mlm import HMMPlan, batch_generator, draw_batch
    >>> language = HMMPlan(states=2, words=6, length=4).build()
    >>> batch = draw_batch(language, 3, 4, 0.0, batch_generator(0, "training", 0))
    >>> batch.tokens.shape, (batch.tokens == -2).sum(1).tolist()
    (torch.Size([3, 4]), [1, 1, 1])
    """
    tokens = padded_to(language.sample(sentences, generator, generator.device), positions)
    return mask(tokens, fraction, generator)


@checked
def batch_generator(seed: int, use: Use, number: int, device: Device = "cpu") -> torch.Generator:
    """The generator of batch `number` of a run.

    It depends on these values only, so that a run resumes, or is shared out to processes, without
    any state. On a CPU torch keeps 32 bits of a seed: here the numbers of a run are consecutive, so
    no two batches share one, and training has the even ones.

    Parameters
    ----------
    seed
        of the run.
    use
        "training" or "evaluation".
    number
        of the batch: 0, 1, ….
    device
        of the generator, as for torch.

    Returns
    -------
    torch.Generator
        a new one for each call.

    Raises
    ------
    ValueError
        a negative seed or number, another use, or what is not a device.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.mlm import batch_generator
    >>> one, again = (batch_generator(0, "training", 5) for _ in range(2))
    >>> torch.equal(torch.rand(3, generator=one), torch.rand(3, generator=again))
    True
    """
    seed, number = as_integer("seed", seed, 0), as_integer("number", number, 0)
    start = int.from_bytes(sha256(f"{seed} batches".encode()).digest()[:4], "big")
    return torch.Generator(device).manual_seed(
        (2 * (start + number) + (use == "evaluation")) % 2**32
    )
