"""Multinomial logistic regression, many problems at once, solved to a tolerance of the gradient."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ntpcompanion.mlm.probes.logistic_loss import LogisticProblems, logistic_problems
from ntpcompanion.numerics.lbfgs import PAIRS, Pair, lbfgs_direction
from ntpcompanion.validation import as_integer, as_positive

SUFFICIENT_DECREASE = 1e-4
# of the slope at the start: where rounding hides the decrease, the slope may have turned this far
TURNED = 0.8
BACKTRACKS = 30
# the certificate is computed afresh, and rounds differently: the iteration aims below the tolerance
MARGIN = 0.9


@dataclass(frozen=True)
class LogisticFit:
    """Weights and biases of k problems, with a certificate.

    Fields
    ------
    weights, bias
        the logits of features x are x W + b.
    gradient_norm
        Euclidean norm of the gradient of the objective in (W, b) at the solution, computed afresh
        there.
    loss
        the objective at the solution, in nats, in float64.
    iterations
        of the slowest problem.
    tolerance
        of the gradient's norm, as asked for.
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

    def only(self, kept: Tensor) -> "_State":
        return _State(*(x[kept] for x in (self.points, self.logits, self.loss, self.gradient)))


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
    """Minimize (1/n) Σᵢ −log softmax(xᵢ W + b)[yᵢ] + (ridge_k/2) ‖W‖² in W and b, for every
    problem k of a stack.

    Parameters
    ----------
    features
        in float32 or float64, on any device; well conditioned ones converge fastest, see
        `scaled_stack`.
    labels
        integers (n,) or (k, n), or distributions over the classes (n, classes) or (k, n, classes).
    ridge
        at least 0; the bias is not penalized. With ridge 0 and classes that a linear map separates
        there is no minimum, and the iteration ends where the gradient is below the tolerance.
    tolerance
        of the Euclidean norm of the gradient. On whitened features in float32, rounding leaves a
        norm of about 1e-7.
    start
        a fit of problems of the same shape to start from; zeros by default.

    Returns
    -------
    LogisticFit
        with the gradient's norm of every problem. A problem that has not reached the tolerance is
        no error: `converged` tells.

    Raises
    ------
    ValueError
        shapes that do not fit, labels that are not classes, a negative ridge, features that are not
        finite.

    Notes
    -----
    L-BFGS with ten pairs on all problems at once, backtracking by problem; those that have
    converged stand still, and are left out once they are half of the stack. A step costs two
    products with the features, O(k n d classes); backtracking needs none, as logits are linear in
    the point. Memory: the features, half of them again, and a few times k n classes.
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
    found, rows = points.clone(), torch.arange(len(points), device=points.device)
    logits = problems.logits(points)
    state = _state(problems, points, logits)
    moving = torch.ones(len(points), dtype=torch.bool, device=points.device)
    pairs: list[Pair] = []
    for iteration in range(max_iterations):
        moving = moving & (state.gradient.flatten(1).norm(dim=1) > tolerance)
        if 2 * (count := int(moving.sum())) <= len(moving):
            found[rows] = state.points
            if count == 0:
                return found, iteration
            problems, state, rows = problems.only(moving), state.only(moving), rows[moving]
            pairs = [pair.only(moving) for pair in pairs]
            moving = moving[moving]
        direction = lbfgs_direction(state.gradient.flatten(1), pairs).view_as(state.points)
        after, moved = _searched(problems, state, moving[:, None, None] * direction)
        step, change = after.points - state.points, after.gradient - state.gradient
        pairs = [*pairs, Pair.of(step.flatten(1), change.flatten(1))][-PAIRS:]
        state, moving = after, moving & moved
    found[rows] = state.points
    return found, max_iterations


def _state(problems: LogisticProblems, points: Tensor, logits: Tensor) -> _State:
    loss, residual = problems.loss_and_residual(points, logits)
    return _State(points, logits, loss, problems.gradient(points, residual))


def _searched(
    problems: LogisticProblems, state: _State, direction: Tensor
) -> tuple[_State, Bool[Tensor, "k"]]:
    """The states after a step along the direction, and which problems found one that is accepted:
    Armijo's condition, or, where the decrease is below rounding, no increase beyond it and a slope
    that has not turned too far (the approximate condition of Hager and Zhang 2005).

    Rejected steps shrink to the zero of the secant of the slope, within a tenth and a half.
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
            (loss <= state.loss + rounding) & (reached <= -TURNED * slope)
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
