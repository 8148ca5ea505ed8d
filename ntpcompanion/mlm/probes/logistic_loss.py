"""The objective of multinomial logistic regression and its gradient, for a stack of problems."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

# rows of float32 that were divided by their sum miss 1 by about 1e-7
SUM_TOLERANCE = 1e-5


@dataclass(frozen=True)
class LogisticProblems:
    """The objectives of k logistic regressions, (1/n) Σᵢ −Σ_y tᵢy log softmax(W xᵢ + b)_y +
    (ridge/2) ‖W‖² with targets t.

    A point is (W, b) as one tensor (k, classes, d + 1), the bias last. Logits, residuals and
    targets have the examples last: products with the features are fastest so.
    """

    features: Float[Tensor, "k n d"]
    targets: Float[Tensor, "k classes n"]
    ridge: Float[Tensor, "k"]

    def logits(self, points: Float[Tensor, "k classes d1"]) -> Float[Tensor, "k classes n"]:
        """W xᵢ + b of all examples."""
        return points[..., :-1] @ self.features.mT + points[..., -1:]

    def loss_and_residual(
        self, points: Tensor, logits: Tensor
    ) -> tuple[Float[Tensor, "k"], Float[Tensor, "k classes n"]]:
        """The objective at points with these logits, summed over examples in float64, and the
        derivative of n times the mean loss in the logits, probabilities minus targets.
        """
        logs = logits.log_softmax(1)
        loss = -(self.targets * logs).sum((1, 2), dtype=torch.float64) / logits.shape[2]
        squares = points[..., :-1].double().square().sum((1, 2))
        return loss + self.ridge.double() / 2 * squares, logs.exp_().sub_(self.targets)

    def gradient(self, points: Tensor, residual: Tensor) -> Float[Tensor, "k classes d1"]:
        """The gradient of the objective at points with this residual."""
        weights = residual @ self.features / residual.shape[2]
        weights = weights + self.ridge[:, None, None] * points[..., :-1]
        return torch.cat([weights, residual.mean(2, keepdim=True)], 2)

    def only(self, kept: Bool[Tensor, "k"]) -> "LogisticProblems":
        """Some of the problems: a copy of their features."""
        return LogisticProblems(self.features[kept], self.targets[kept], self.ridge[kept])


def logistic_problems(
    features: Float[Tensor, "k n d"], labels: Tensor, classes: int, ridge: Float[Tensor, "k"]
) -> LogisticProblems:
    """The problems of `fit_logistic`, with labels as distributions over the classes.

    Raises ValueError for shapes that do not fit, labels that are not classes, a ridge that is
    negative or not finite, and features that are not finite.
    """
    if features.dim() != 3 or not features.is_floating_point() or 0 in features.shape:
        raise ValueError(
            "`features` must be a stack (k, n, d) of numbers in floating point, got shape "
            f"{tuple(features.shape)} of {features.dtype}."
        )
    if not features.isfinite().all():
        raise ValueError(
            f"`features` must be finite, got {int((~features.isfinite()).sum())} entries that are "
            "NaN or infinite."
        )
    ridge = torch.as_tensor(ridge).to(features)
    if ridge.shape != features.shape[:1] or not (ridge.isfinite() & (ridge >= 0)).all():
        raise ValueError(
            f"`ridge` must be {len(features)} finite numbers of at least 0, one for each problem, "
            f"got {ridge.tolist()}."
        )
    return LogisticProblems(features, _targets(features, labels, classes), ridge)


def _targets(features: Tensor, labels: Tensor, classes: int) -> Float[Tensor, "k classes n"]:
    stack, n = features.shape[:2]
    soft = labels.is_floating_point()
    shape = (n, classes) if soft else (n,)
    if labels.shape not in (shape, (stack, *shape)):
        raise ValueError(
            f"`labels` must have shape {shape} or {(stack, *shape)}, as the features have shape "
            f"{tuple(features.shape)}, got {tuple(labels.shape)}."
        )
    if soft:
        targets = _distributions(labels)
    elif labels.min() < 0 or labels.max() >= classes:
        raise ValueError(
            f"`labels` must lie in 0 … {classes - 1}, got {int(labels.min())} … "
            f"{int(labels.max())}."
        )
    else:
        targets = F.one_hot(labels.long(), classes)
    return targets.to(features).expand(stack, n, classes).mT.contiguous()


def _distributions(labels: Tensor) -> Tensor:
    if not ((labels >= 0).all() and ((labels.sum(-1) - 1).abs() < SUM_TOLERANCE).all()):
        raise ValueError(
            "`labels` in floating point must be distributions over the classes, not negative and "
            f"with sum 1, got sums {float(labels.sum(-1).min()):g} … "
            f"{float(labels.sum(-1).max()):g}."
        )
    return labels
