"""Multinomial logistic regression, many problems at once, solved to a tolerance of the gradient."""

from dataclasses import dataclass
from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from ntpcompanion.checks import Finite, Range, checked
from ntpcompanion.numerics.lbfgs import PAIRS, Pair, lbfgs_direction
from ntpcompanion.validation import as_integer, as_positive

SUFFICIENT_DECREASE = 1e-4
# of the slope at the start: where rounding hides the decrease, the slope may have turned this far
MAX_REVERSAL = 0.8
BACKTRACKS = 30
# the certificate is computed afresh, and rounds differently: the iteration aims below the tolerance
MARGIN = 0.9


# rows of float32 that were divided by their sum miss 1 by about 1e-7
SUM_TOLERANCE = 1e-5


@dataclass(frozen=True)
class LogisticProblems:
    """k objectives (1/n) Σᵢ −Σ_y tᵢy log softmax(W xᵢ + b)_y + (ridge/2) ‖W‖² with targets t, where
    a point is (W, b) as one tensor with the bias last. Logits, residuals and targets have the
    examples last: products with the features are fastest so.
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

    def only(self, selected: Bool[Tensor, "k"]) -> "LogisticProblems":
        """Some of the problems: a copy of their features."""
        return LogisticProblems(
            self.features[selected], self.targets[selected], self.ridge[selected]
        )


@checked
def logistic_problems(
    features: Annotated[Float[Tensor, "k n d"], Finite],
    labels: Tensor,
    classes: int,
    ridge: Annotated[Float[Tensor, " k"], Finite, Range(0)],
) -> LogisticProblems:
    """The problems of `fit_logistic`, with labels as distributions over the classes. Raises
    ValueError for labels that are not classes.
    """
    ridge = torch.as_tensor(ridge).to(features)
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


@dataclass(frozen=True)
class LogisticFit:
    """Weights and biases of k problems, logits x W + b, with a certificate: the Euclidean norm of
    the gradient in (W, b), computed afresh. `loss` is the objective in nats, `iterations` those of
    the slowest problem.
    """

    weights: Float[Tensor, "k d classes"]
    bias: Float[Tensor, "k classes"]
    gradient_norm: Float[Tensor, "k"]
    loss: Float[Tensor, "k"]
    iterations: int
    tolerance: float

    @property
    def converged(self) -> Bool[Tensor, "k"]:
        """Which problems have reached the tolerance."""
        return self.gradient_norm <= self.tolerance


@dataclass(frozen=True)
class _State:
    points: Tensor
    logits: Tensor
    loss: Tensor
    gradient: Tensor

    def only(self, selected: Tensor) -> "_State":
        return _State(*(x[selected] for x in (self.points, self.logits, self.loss, self.gradient)))


@torch.no_grad()
def fit_logistic(
    features: Float[Tensor, "k n d"],
    labels: Tensor,
    classes: int,
    ridge: Float[Tensor, "k"],
    *,
    tolerance: float = 1e-5,
    max_iterations: int = 500,
    start: LogisticFit | None = None,
) -> LogisticFit:
    """Minimize (1/n) Σᵢ −log softmax(xᵢ W + b)[yᵢ] + (ridge_k/2) ‖W‖² for every problem k of a
    stack, by L-BFGS until the norm of the gradient is below `tolerance` (rounding leaves 1e-7 in
    float32). Labels are integers or distributions, whose sums leave a gradient of their distance
    from 1; a problem that has not converged is no error. With a ridge of 0 and separable classes
    there is no minimizer, and the weights are where the gradient falls below `tolerance`. Raises
    ValueError for shapes that do not fit, labels that are no classes, a negative ridge,
    infinite features.
    """
    problems = logistic_problems(features, labels, classes, ridge)
    as_positive("tolerance", tolerance)
    as_integer("max_iterations", max_iterations, 1)
    points, iterations = _minimized(
        problems, _first_points(problems, start), MARGIN * tolerance, max_iterations
    )
    logits = problems.logits(points)
    gradient = problems.gradient(points, problems.loss_and_residual(points, logits)[1])
    return LogisticFit(
        points[..., :-1].mT.contiguous(),
        points[..., -1].contiguous(),
        gradient.flatten(1).norm(dim=1),
        # a difference of logits, small where all is right
        problems.loss_and_residual(points, logits.double())[0],
        iterations,
        tolerance,
    )


def _minimized(
    problems: LogisticProblems, points: Tensor, tolerance: float, max_iterations: int
) -> tuple[Tensor, int]:
    """The points after the last iteration, and how many there were."""
    solutions, rows = points.clone(), torch.arange(len(points), device=points.device)
    logits = problems.logits(points)
    state = _state(problems, points, logits)
    moving = torch.ones(len(points), dtype=torch.bool, device=points.device)
    pairs: list[Pair] = []
    for iteration in range(max_iterations):
        moving = moving & (state.gradient.flatten(1).norm(dim=1) > tolerance)
        if 2 * (count := int(moving.sum())) <= len(moving):
            solutions[rows] = state.points
            if count == 0:
                return solutions, iteration
            problems, state, rows = problems.only(moving), state.only(moving), rows[moving]
            pairs = [pair.only(moving) for pair in pairs]
            moving = moving[moving]
        direction = lbfgs_direction(state.gradient.flatten(1), pairs).view_as(state.points)
        after, moved = _searched(problems, state, moving[:, None, None] * direction)
        step, change = after.points - state.points, after.gradient - state.gradient
        pairs = [*pairs, Pair.of(step.flatten(1), change.flatten(1))][-PAIRS:]
        state, moving = after, moving & moved
    solutions[rows] = state.points
    return solutions, max_iterations


def _state(problems: LogisticProblems, points: Tensor, logits: Tensor) -> _State:
    loss, residual = problems.loss_and_residual(points, logits)
    return _State(points, logits, loss, problems.gradient(points, residual))


def _searched(
    problems: LogisticProblems, state: _State, direction: Tensor
) -> tuple[_State, Bool[Tensor, "k"]]:
    """The states after a step along the direction, and which problems accept one, by Armijo's
    condition or, as rounding may hide a decrease, by the upper bound of the approximate condition
    of Hager and Zhang 2005. A rejected step shrinks to the zero of the secant of the slope, within
    a tenth and a half.
    """
    slope = (state.gradient * direction).sum((1, 2), dtype=torch.float64)
    along = problems.logits(direction)  # linear; a difference of logits would lose its digits
    rounding = 10 * torch.finfo(along.dtype).eps * state.loss.abs()
    step = torch.ones_like(slope)
    for _ in range(BACKTRACKS):
        points, logits = _moved(state, direction, along, step)
        loss, residual = problems.loss_and_residual(points, logits)
        reached = _slope(problems, points, residual, direction, along)
        accepted = (loss <= state.loss + SUFFICIENT_DECREASE * step * slope) | (
            (loss <= state.loss + rounding) & (reached <= -MAX_REVERSAL * slope)
        )
        if accepted.all():
            return _State(points, logits, loss, problems.gradient(points, residual)), accepted
        shrunk = step * (slope / (slope - reached)).nan_to_num(0.1).clamp(0.1, 0.5)
        step = torch.where(accepted, step, shrunk)
    stopped = torch.where(accepted, step, 0.0)
    return _state(problems, *_moved(state, direction, along, stopped)), accepted


def _moved(state: _State, direction: Tensor, along: Tensor, step: Tensor) -> tuple[Tensor, Tensor]:
    """Points and logits after a step of every problem."""
    factor = step[:, None, None].to(along.dtype)
    return state.points + factor * direction, state.logits + factor * along


def _slope(
    problems: LogisticProblems, points: Tensor, residual: Tensor, direction: Tensor, along: Tensor
) -> Float[Tensor, "k"]:
    """The derivative of the objective along a direction that changes the logits by `along`."""
    loss = (residual * along).sum((1, 2), dtype=torch.float64) / residual.shape[2]
    penalty = (points * direction)[..., :-1].sum((1, 2), dtype=torch.float64)
    return loss + problems.ridge.double() * penalty


def _first_points(problems: LogisticProblems, start: LogisticFit | None) -> Tensor:
    stack, classes = problems.targets.shape[:2]
    zeros = problems.features.new_zeros(stack, classes, problems.features.shape[2] + 1)
    if start is None:
        return zeros
    points = torch.cat([start.weights.mT, start.bias[..., None]], 2).to(zeros)
    if points.shape != zeros.shape:
        raise ValueError(
            f"`start` must be a fit of {stack} problems with {zeros.shape[2] - 1} features and "
            f"{classes} classes, got weights of shape {tuple(start.weights.shape)}."
        )
    return points
