"""A downstream task as a probe is given it: examples with their labels."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ntpcompanion.checks import Is, Range, checked, need
from ntpcompanion.validation import as_integer


@dataclass(frozen=True, eq=False)
@checked(
    need("inputs", "inputs.shape[:1] == labels.shape", "have a row for each of `labels`"),
    need(
        "labels",
        "not labels.is_floating_point() and labels.min() >= 0 and (labels.max() < classes)",
        "lie between 0 and `classes` = {classes}, which is not one of them",
    ),
)
class LabelledExamples:
    """A downstream task: what is given, and which of several classes it belongs to.

    Fields
    ------
    inputs
        (n, …) one row each: features for a probe, tokens for fine-tuning.
    labels
        (n,) integers 0 … classes − 1.
    classes
        how many there are; some may have no example.

    Raises
    ------
    ValueError
        not one label for each row, or no row; fewer than 2 classes; labels out of range; inputs
        that are not finite.
    """

    inputs: Annotated[
        Tensor,
        Is(lambda inputs: inputs.isfinite().all(), "be finite"),
    ]
    labels: Annotated[
        Tensor, Is(lambda labels: labels.ndim == 1 and len(labels), "have shape (n,)")
    ]
    classes: Annotated[int, Range(2)]


@torch.no_grad()
def rows_in_batches(
    rows_of: Callable[[Tensor], Float[Tensor, "rows columns"]],
    tokens: Int[Tensor, "n length"],
    reference: Tensor,
    columns: int,
    batch: int,
    projection: Float[Tensor, "columns fewer"] | None = None,
) -> Float[Tensor, "n kept"]:
    """`rows_of` the tokens, `batch` sentences at a time, each row times `projection` if there is
    one; dtype and device are those of `reference`.

    Memory: the result, and `rows_of` one batch. Raises ValueError for a batch below 1.
    """
    as_integer("batch", batch, 1)
    rows = reference.new_empty(len(tokens), columns if projection is None else projection.shape[1])
    for first in range(0, len(tokens), batch):
        part = rows_of(tokens[first : first + batch])
        rows[first : first + batch] = part if projection is None else part @ projection
    return rows
