"""Stacks of small perceptrons trained on probabilities, such as labels or a teacher's predictions,
and how the confidence of a student differs from its teacher's.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor

from ntpcompanion.checks import Is, Positive, Shape, Size, checked, need
from ntpcompanion.generalization.stacked_mlp import StackedMLP
from ntpcompanion.validation import as_array


@checked
def train_on_probabilities(
    inputs: Float[Tensor, "stack n d"],
    targets: Float[Tensor, "stack n classes"],
    *,
    width: Size,
    steps: Size,
    learning_rate: Positive,
    generator: torch.Generator,
) -> StackedMLP:
    """Train a stack of independent perceptrons with one hidden ReLU layer by Adam on the mean
    cross-entropy with `targets`, probabilities. Initial weights have variance 1 / (inputs of the
    layer). Raises ValueError for no tensors, targets of another shape, sizes below 1, a rate that
    is not positive.
    """
    networks = _initial(inputs, width, targets.shape[-1], generator)
    parameters = [p.requires_grad_() for p in (*networks.weights, *networks.biases)]
    optimizer = torch.optim.Adam(parameters, learning_rate)
    for _ in range(steps):
        log_probabilities = networks.logits(inputs).log_softmax(-1)
        loss = -(targets * log_probabilities).sum(-1).mean(1).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    final = (tuple(p.detach() for p in layers) for layers in (networks.weights, networks.biases))
    return StackedMLP(*final)


def _initial(inputs: Tensor, width: int, classes: int, generator: torch.Generator) -> StackedMLP:
    stack, _, d = inputs.shape
    weights = [
        torch.randn(stack, rows, columns, generator=generator) * rows**-0.5
        for rows, columns in ((d, width), (width, classes))
    ]
    biases = [torch.zeros(stack, 1, columns) for columns in (width, classes)]
    return StackedMLP(tuple(p.to(inputs) for p in weights), tuple(p.to(inputs) for p in biases))


@dataclass(frozen=True, eq=False)
class ConfidenceShift:
    """The slope of the student's log-odds of the teacher's top class against the teacher's own
    (above 1 the student exaggerates), and their mean difference, student less teacher, in equal
    groups from the least confident points to the most confident.
    """

    slope: float
    groups: Float[np.ndarray, " groups"]


@checked(need("groups", "groups <= len(teacher_logits)", "be at most {m}, the points"))
def confidence_shift(
    teacher_logits: Annotated[
        ArrayLike,
        Shape("m classes"),
        Is(lambda logits: min(np.shape(logits)) > 1, "have at least two points and two classes"),
    ],
    student_logits: Annotated[ArrayLike, Shape("m classes")],
    *,
    groups: Size = 5,
) -> ConfidenceShift:
    """Compare the log-odds log p/(1 − p) that teacher and student have for the teacher's top class:
    the slope, and mean differences in `groups` by the teacher's confidence. Raises ValueError for
    too few classes or points, different shapes, infinite logits, teacher logits of equal
    confidence.
    """
    teacher = as_array("teacher_logits", teacher_logits)
    student = as_array("student_logits", student_logits)
    top = teacher.argmax(axis=1)
    reference, other = _log_odds(teacher, top), _log_odds(student, top)
    if reference.min() == reference.max():
        raise ValueError(
            "`teacher_logits` must differ in confidence between points, got log-odds of "
            f"{reference[0]:g} at each."
        )
    centred = reference - reference.mean()
    order = np.argsort(reference, kind="stable")
    parts = np.array_split((other - reference)[order], groups)
    return ConfidenceShift(
        slope=float(centred @ other / (centred @ centred)),
        groups=np.array([part.mean() for part in parts]),
    )


def _log_odds(
    logits: Float[np.ndarray, "m classes"], chosen: np.ndarray
) -> Float[np.ndarray, " m"]:
    """Log-odds of the chosen classes, without cancellation near probability 1."""
    rows = np.arange(len(logits))
    rest = logits.copy()
    rest[rows, chosen] = -np.inf
    largest = rest.max(axis=1)
    return np.asarray(
        logits[rows, chosen] - largest - np.log(np.exp(rest - largest[:, None]).sum(axis=1))
    )
