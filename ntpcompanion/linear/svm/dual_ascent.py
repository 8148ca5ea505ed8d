"""Two ways to climb the dual of the next-token SVM: accelerated projected gradients, and conjugate
gradients on a face. Each is a function of (problem, state) that returns the next state and a cost.
"""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from ntpcompanion.linear.svm.dual_problem import (
    FALLEN,
    HEADROOM,
    DualProblem,
    State,
    centre_,
    dot,
    objective,
    project_,
)

# Residuals below so many roundings of KΓ are noise: conjugate gradients would follow them anywhere.
NOISE = 10
# A direction whose curvature is below this fraction of the largest eigenvalue is a ray: the
# objective grows along it without bound.
FLAT = 1e-13
# Projected candidates shrink by this factor, down to the smallest fraction of the step.
SHRINK, SMALLEST_STEP = 4, 1e-3


@dataclass(frozen=True)
class Info:
    """What a call cost: products of K with an (m, V) matrix, which take nearly all its time."""

    products: int


def ascend(problem: DualProblem, state: State, steps: int) -> tuple[State, Info]:
    """Accelerated projected gradient with restarts (Nesterov; O'Donoghue and Candès 2015), one
    product a step. L is larger afterwards where the last step was steeper than the present one
    allows.

    Six (m, V) matrices, reused: at these sizes fresh memory costs more than arithmetic.
    """
    lipschitz, level = state.lipschitz, state.level
    goal = problem.gradient(torch.zeros_like(state.gamma)).div_(lipschitz)
    # pairs Γ, KΓ: the last iterate, the extrapolated one, and room for the next
    old = state.gamma.clone(), state.gram_gamma.clone()
    ahead = state.gamma.clone(), state.gram_gamma.clone()
    new = torch.zeros_like(goal), torch.zeros_like(goal)
    target, momentum = torch.empty_like(goal), 1.0
    for _ in range(steps):
        torch.add(ahead[0], ahead[1], alpha=-1 / lipschitz, out=target).add_(goal)
        level = project_(problem, target, level, out=new[0])
        torch.mm(problem.gram, new[0], out=new[1])
        momentum, weight = _momentum(momentum, old[0], ahead[0], new[0])
        for extrapolated, after, before in zip(ahead, new, old, strict=True):
            torch.mul(after, 1 + weight, out=extrapolated).add_(before, alpha=-weight)
        old, new = new, old
    move, gram_move = old[0] - new[0], old[1] - new[1]
    if (curvature := dot(move, gram_move)) > lipschitz * dot(move, move):
        lipschitz = HEADROOM * curvature / dot(move, move)
    return State(*old, level, lipschitz), Info(steps)


def _momentum(
    momentum: float,
    old: Float[Tensor, "m V"],
    ahead: Float[Tensor, "m V"],
    new: Float[Tensor, "m V"],
) -> tuple[float, float]:
    """Nesterov's next momentum and the weight of the last move; both start again where the move
    goes against the gradient at the extrapolated iterate.
    """
    restart_test = dot(ahead, new) - dot(ahead, old) - dot(new, new) + dot(new, old)
    if restart_test > 0:
        return 1.0, 0.0
    following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
    return following, (momentum - 1) / following


def polish(problem: DualProblem, state: State, steps: int, close: float) -> tuple[State, Info]:
    """The maximum over the face of Γ (entries that are zero off support stay there) by at most
    `steps` conjugate gradients, as far as it is feasible. They end early where no margin on the
    face is off by more than `close` · c_j.

    On the right face this is the solution to rounding. On a wrong one, the step is cut off at the
    boundary, or projected onto the constraints where that has a larger objective (Moré and Toraldo
    1991). The objective does not fall, but for rounding. Costs one product a step, and one for each
    projected candidate.
    """
    face = (problem.support | (state.gamma < 0)).to(problem.gram.dtype)
    eps, largest = torch.finfo(face.dtype).eps, float(state.gamma.abs().max())
    enough = max(close * float(problem.threshold.min()), NOISE * eps * state.lipschitz * largest)
    move, gram_move, products = _to_face_maximum(problem, state, face, steps, enough)
    maximum_step = _maximum_step(problem, state, move)
    full_step = min(1.0, maximum_step)
    gamma = state.gamma + full_step * move
    best = replace(
        state,
        gamma=torch.where(problem.support, gamma, gamma.clamp(max=0.0)),
        gram_gamma=state.gram_gamma + full_step * gram_move,
    )
    best, tried = _projected_candidate(problem, state, best, move, full_step)
    return best, Info(products + tried)


def _maximum_step(problem: DualProblem, state: State, move: Float[Tensor, "m V"]) -> float:
    """The largest multiple of a move at which Γ stays nonpositive off support."""
    shrinking = ~problem.support & (move > 0)  # nothing moves off the face
    if not bool(shrinking.any()):
        return math.inf
    return float((-state.gamma[shrinking] / move[shrinking]).min())


def _projected_candidate(
    problem: DualProblem, state: State, best: State, move: Float[Tensor, "m V"], full_step: float
) -> tuple[State, int]:
    """The first of the projections of Γ + t · move, for falling t above `full_step`, with a larger
    objective than `best`, or else `best`; and the products that the candidates cost.
    """
    largest, fraction, level, products = objective(problem, best), 1.0, state.level, 0
    while fraction > full_step and fraction > SMALLEST_STEP:
        gamma = torch.empty_like(move)
        level = project_(problem, state.gamma + fraction * move, level, out=gamma)
        projected = State(gamma, torch.mm(problem.gram, gamma), level, state.lipschitz)
        products += 1
        if objective(problem, projected) > largest:
            return projected, products
        fraction /= SHRINK
    return replace(best, level=level), products


def _to_face_maximum(
    problem: DualProblem, state: State, face: Float[Tensor, "m V"], steps: int, enough: float
) -> tuple[Float[Tensor, "m V"], Float[Tensor, "m V"], int]:
    """The move from Γ to the maximum over a face (a mask of 0 and 1), its product with K, and the
    number of products it took.

    Where the objective has no maximum on the face, the move is along a ray on which it grows
    without bound, by 1 more than Γ is long: the next round goes on from there.
    """
    residual = centre_(problem.gradient(state.gram_gamma), face)
    move, gram_move = torch.zeros_like(residual), torch.zeros_like(residual)
    direction = residual.clone()
    image, centred = torch.empty_like(residual), torch.empty_like(residual)
    squared = first = dot(residual, residual)
    for products in range(steps):
        if squared <= FALLEN[residual.dtype] * first or float(residual.abs().max()) <= enough:
            return move, gram_move, products
        torch.mm(problem.gram, direction, out=image)
        centre_(centred.copy_(image), face)
        curvature = dot(direction, centred)
        if curvature <= FLAT * state.lipschitz * dot(direction, direction):
            length = 1 + torch.linalg.norm(state.gamma)
            ray = direction * (length / torch.linalg.norm(direction))
            return ray, torch.mm(problem.gram, ray), products + 2
        length = squared / curvature
        move.add_(direction, alpha=length)
        gram_move.add_(image, alpha=length)
        residual.sub_(centred, alpha=length)
        following = dot(residual, residual)
        direction.mul_(following / squared).add_(residual)
        squared = following
    return move, gram_move, steps
