"""Downstream tasks: examples, and what an accuracy on them is compared with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from ntpcompanion.checks import Is, Range, checked, need
from ntpcompanion.languages.language_checks import check_normalized
from ntpcompanion.validation import as_integer, check_range, described, require


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


@dataclass(frozen=True)
class Accuracy:
    """A share of right guesses, and its standard error."""

    value: float
    stderr: float


def accuracy_of(right: Tensor) -> Accuracy:
    """The mean of a share of right guesses for each example, and the standard error of that
    mean.
    """
    right = right.double()
    return Accuracy(float(right.mean()), float(right.std(correction=0) / len(right) ** 0.5))


def bayes_accuracy(posterior: Float[Tensor, "n classes"]) -> Accuracy:
    """What no guess from the sentence can exceed, E max_y Pr(y | x), from the exact posterior on n
    sentences.

    No label is needed, which makes the error smaller than that of the guesses themselves. It bounds
    expectations: measured on finitely many labels, an accuracy may be above by its own error.

    Raises ValueError for no row, or rows that are not a distribution.
    """
    require(len(posterior), "`posterior` must have a row for each sentence, got none.")
    probable = (posterior.isfinite() & (posterior >= 0)).all()
    require(probable, "`posterior` must hold probabilities. Give Pr(label | sentence).")
    check_normalized("posterior", posterior.double().sum(1))
    return accuracy_of(posterior.amax(1))


def posterior_accuracy(
    posterior: Float[Tensor, "n classes"], guesses: Integer[Tensor, " n"]
) -> Accuracy:
    """The expected accuracy of given guesses, E Pr(guess | x), from the exact posterior on n
    sentences.

    It has the mean of the share of right guesses, without the noise of drawn labels.

    Raises ValueError unless there is one guess in 0 … classes − 1 for each row.
    """
    fits = guesses.shape == posterior.shape[:1] and not guesses.is_floating_point()
    require(fits, f"`guesses` must be integers, one for each row, got {described(guesses)}.")
    check_range("guesses", guesses, 0, posterior.shape[1] - 1)
    return accuracy_of(posterior.gather(1, guesses.to(posterior.device)[:, None].long())[:, 0])
