"""Rows of tokens of one part of a text, to fine-tune a language model and to hold out."""

from typing import Annotated, Any

import numpy as np
import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from ntpcompanion.experiments.real_model.model_text import TextPart
from ntpcompanion.randomness import stream


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
