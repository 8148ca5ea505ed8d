"""The ridge of a logistic regression, chosen on examples that are held out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from ntpcompanion.checks import Length, checked
from ntpcompanion.mlm.probes.logistic import LogisticFit, fit_logistic

Criterion = Literal["accuracy", "loss"]


@dataclass(frozen=True)
class RidgeChoice:
    """The ridge of each of k models, its score on the held-out examples (accuracy, or minus the
    loss in nats; mean over the fits of the model), and the fits with it.
    """

    ridge: Float[Tensor, "k"]
    score: Float[Tensor, "k"]
    fit: LogisticFit


@checked
def choose_ridge(
    features: Float[Tensor, "fits n d"],
    labels: Tensor,
    held_out: Float[Tensor, "sets m d"],
    labels_held_out: Tensor,
    classes: int,
    ridges: Annotated[Sequence[float], Length()],
    *,
    models: int,
    criterion: Criterion = "accuracy",
    tolerance: float = 1e-5,
    max_iterations: int = 500,
) -> RidgeChoice:
    """Fit each set of features with each ridge, and keep for each model the best ridge by held-out
    examples; its consecutive fits share it, ties go to the largest. The ridge of least loss can
    cost points of accuracy: choose by what is judged. Raises ValueError for no ridges, an unknown
    criterion, or as `fit_logistic`.
    """
    choice: RidgeChoice | None = None
    fit: LogisticFit | None = None
    for ridge in sorted(ridges, reverse=True):
        fit = fit_logistic(
            features,
            labels,
            classes,
            features.new_full((len(features),), ridge),
            tolerance=tolerance,
            max_iterations=max_iterations,
            start=fit,
        )
        score = _score(grouped_logits(fit, held_out, models), labels_held_out, criterion)
        new = RidgeChoice(torch.full_like(score, ridge), score, fit)
        choice = new if choice is None else _better(choice, new)
    assert choice is not None
    return choice


def grouped_logits(
    fit: LogisticFit, features: Float[Tensor, "sets m d"], models: int
) -> Float[Tensor, "models fits m classes"]:
    """The logits of each model's fits, on features of their own or on those of the model."""
    per_set = len(fit.weights) // len(features)
    weights = fit.weights.unflatten(0, (len(features), per_set))
    logits = torch.einsum("smd,sfdc->sfmc", features, weights)
    logits = logits + fit.bias.unflatten(0, (len(features), per_set))[:, :, None]
    return logits.flatten(0, 1).unflatten(0, (models, -1))


def _score(logits: Tensor, labels: Tensor, criterion: Criterion) -> Float[Tensor, "models"]:
    if criterion == "accuracy":
        return (logits.argmax(-1) == labels).double().mean((1, 2))
    labels = labels.repeat(logits.shape[:2].numel())
    rows = F.cross_entropy(logits.flatten(0, 2), labels, reduction="none")
    return -rows.unflatten(0, logits.shape[:3]).double().mean((1, 2))


def _better(first: RidgeChoice, second: RidgeChoice) -> RidgeChoice:
    """For each model, that of the higher score; the first where they are equal."""
    models = second.score > first.score
    fits = models.repeat_interleave(len(first.fit.weights) // len(models))
    return RidgeChoice(
        torch.where(models, second.ridge, first.ridge),
        torch.where(models, second.score, first.score),
        _selected(fits, second.fit, first.fit),
    )


def _selected(which: Bool[Tensor, "k"], first: LogisticFit, second: LogisticFit) -> LogisticFit:
    return LogisticFit(
        torch.where(which[:, None, None], first.weights, second.weights),
        torch.where(which[:, None], first.bias, second.bias),
        torch.where(which, first.gradient_norm, second.gradient_norm),
        torch.where(which, first.loss, second.loss),
        max(first.iterations, second.iterations),
        first.tolerance,
    )
