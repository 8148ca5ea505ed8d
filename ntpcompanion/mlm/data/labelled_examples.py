"""Downstream tasks: examples, and what an accuracy on them is compared with."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from ntpcompanion.languages.language_checks import refuse_unnormalized
from ntpcompanion.validation import as_integer, check_tensor


@dataclass(frozen=True, eq=False)
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

    inputs: Tensor
    labels: Tensor
    classes: int

    def __post_init__(self) -> None:
        check_tensor("inputs", self.inputs)
        check_tensor("labels", self.labels)
        if self.labels.ndim != 1 or not len(self.labels) or len(self.inputs) != len(self.labels):
            shapes = f"{tuple(self.labels.shape)} and `inputs` of {tuple(self.inputs.shape)}"
            raise ValueError(
                f"`labels` must be of shape (n,), one for each of n ≥ 1 `inputs`, got {shapes}."
            )
        if as_integer("classes", self.classes) < 2:
            raise ValueError(
                f"`classes` must be at least 2, got {self.classes}. Count those that can occur, "
                "also where there is no example."
            )
        if (
            self.labels.is_floating_point()
            or self.labels.min() < 0
            or self.labels.max() >= self.classes
        ):
            got = f"{self.labels.min():.6g} … {self.labels.max():.6g} of {self.labels.dtype}"
            raise ValueError(
                f"`labels` must be integers in 0 … {self.classes - 1}, got {got}. Leave out "
                "examples without a label."
            )
        if not self.inputs.isfinite().all():
            row = int((~self.inputs.isfinite()).flatten(1).any(1).nonzero()[0])
            raise ValueError(
                f"`inputs` must be finite, row {row} holds nan or inf. Look at the model that made "
                "them."
            )


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
    if not len(posterior):
        raise ValueError("`posterior` must have a row for each sentence, got none.")
    if not (posterior.isfinite() & (posterior >= 0)).all():
        raise ValueError(
            "`posterior` must hold probabilities. Give Pr(label | sentence), not its logarithm, "
            "and no padded position."
        )
    refuse_unnormalized("posterior", posterior.double().sum(1))
    return accuracy_of(posterior.amax(1))


def posterior_accuracy(
    posterior: Float[Tensor, "n classes"], guesses: Integer[Tensor, " n"]
) -> Accuracy:
    """The expected accuracy of given guesses, E Pr(guess | x), from the exact posterior on n
    sentences.

    It has the mean of the share of right guesses, without the noise of drawn labels.

    Raises ValueError unless there is one guess in 0 … classes − 1 for each row.
    """
    if guesses.shape != posterior.shape[:1] or guesses.is_floating_point():
        raise ValueError(
            f"`guesses` must be {len(posterior)} integers, one for each row of `posterior`, got "
            f"{guesses.dtype} of shape {tuple(guesses.shape)}."
        )
    if len(guesses) and not 0 <= guesses.min() <= guesses.max() < posterior.shape[1]:
        raise ValueError(
            f"`guesses` must lie in 0 … {posterior.shape[1] - 1}, got {int(guesses.min())} … "
            f"{int(guesses.max())}."
        )
    return accuracy_of(posterior.gather(1, guesses.to(posterior.device)[:, None].long())[:, 0])
