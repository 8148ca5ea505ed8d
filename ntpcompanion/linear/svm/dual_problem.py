"""The dual of the next-token SVM on the Gram matrix of the contexts: the problem, its objective and
gradient, the projection onto its constraints, and the correction of ties.

Everything here is in unit embeddings U and thresholds c_j = 1/‖h_j‖: a margin of 1 for h_j is one
of c_j for u_j. `ntpcompanion.linear.svm.dual_ascent` solves the problem.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

# The largest eigenvalue by power iteration is a little too small; `ascend` corrects what this does
# not cover.
POWER_STEPS, HEADROOM = 60, 1.02
# Conjugate gradients stop when the squared residual has fallen to rounding.
FALLEN = {torch.float64: 1e-28, torch.float32: 1e-12}
# The level of a projection is found when no Newton step lowers it by more than this fraction.
ROUNDING, NEWTON_STEPS = {torch.float64: 1e-15, torch.float32: 5e-7}, 100
# Blocks of K may need this many times its memory.
BLOCKS = 4


@dataclass(frozen=True, eq=False)
class DualProblem:
    """maximize ⟨G, Γ⟩ − ½ tr(Γᵀ K Γ) over Γ1 = 0, Γ ≤ 0 off support; G = 0 on the supports and −c_j
    off them (dual of definition 3).

    `gram` is K = U Uᵀ: its dtype and device are those of the whole computation. `threshold` is c,
    positive.
    """

    gram: Float[Tensor, "m m"]
    support: Bool[Tensor, "m V"]
    threshold: Float[Tensor, " m"]

    @cached_property
    def sizes(self) -> Float[Tensor, " m"]:
        """S_j, as floats."""
        return self.support.sum(1).to(self.gram.dtype)

    @cached_property
    def inside(self) -> Int[Tensor, " on_support"]:
        """Positions of the supports in a flattened (m, V) matrix."""
        return self.support.flatten().nonzero()[:, 0]

    @cached_property
    def row(self) -> Int[Tensor, " on_support"]:
        """The context of each position of `inside`."""
        return self.inside // self.support.shape[1]

    def linear(self, gamma: Float[Tensor, "m V"]) -> float:
        """⟨G, Γ⟩ = −Σ_j c_j Σ_{v ∉ S_j} Γ_jv = Σ_j c_j Σ_{z ∈ S_j} Γ_jz, as rows sum to zero."""
        return float(self.threshold[self.row] @ gamma.flatten()[self.inside])

    def gradient(self, gram_gamma: Float[Tensor, "m V"]) -> Float[Tensor, "m V"]:
        """G − KΓ, the gradient of the objective, from KΓ."""
        return torch.where(self.support, -gram_gamma, -gram_gamma - self.threshold[:, None])


@dataclass(frozen=True, eq=False)
class State:
    """Where a solver of a dual problem stands: at Γ and KΓ. `level` is ν, where the last projection
    cut and the next one starts. `lipschitz` is L, an estimate of the largest eigenvalue of K, whose
    inverse is the step size.
    """

    gamma: Float[Tensor, "m V"]
    gram_gamma: Float[Tensor, "m V"]
    level: Float[Tensor, " m"]
    lipschitz: float

    @property
    def square(self) -> float:
        """tr(Γᵀ K Γ), the squared norm of the decoder."""
        return dot(self.gamma, self.gram_gamma)


def start(problem: DualProblem) -> State:
    """The state at Γ = 0, with L from power iteration. O(m²)."""
    zero = torch.zeros(problem.support.shape, dtype=problem.gram.dtype, device=problem.gram.device)
    lipschitz = HEADROOM * largest_eigenvalue(problem.gram)
    return State(zero, zero.clone(), torch.zeros_like(problem.threshold), lipschitz)


def objective(problem: DualProblem, state: State) -> float:
    """⟨G, Γ⟩ − ½ tr(Γᵀ K Γ)."""
    return problem.linear(state.gamma) - 0.5 * state.square


def best_multiple(problem: DualProblem, state: State) -> State:
    """The state at the multiple of Γ with the largest objective; the same state where there is
    none, as along a ray on which the objective has no upper bound.
    """
    if state.square <= 0 or problem.linear(state.gamma) <= 0:
        return state
    factor = problem.linear(state.gamma) / state.square
    return replace(state, gamma=factor * state.gamma, gram_gamma=factor * state.gram_gamma)


def project_(
    problem: DualProblem,
    values: Float[Tensor, "m V"],
    level: Float[Tensor, " m"],
    out: Float[Tensor, "m V"],
) -> Float[Tensor, " m"]:
    """Write the nearest Γ with Γ1 = 0 and Γ ≤ 0 off support to `out`, and return its level ν: Γ is
    x − ν on the support and min(x − ν, 0) off it, with the ν that makes the sum 0.

    `values` is x; in place, it loses what it has on the supports. The sum is concave and decreasing
    in ν: one Newton step from any `level` lands above the root, the next ones fall onto it. O(m V)
    a step, two steps from the level of a projection nearby.
    """
    on_support = values.flatten()[problem.inside]
    total = torch.zeros_like(level).index_add_(0, problem.row, on_support)
    values.view(-1)[problem.inside] = torch.inf
    falling = False
    for _ in range(NEWTON_STEPS):
        torch.sub(values, level[:, None], out=out).clamp_(max=0.0)
        # nothing is above 0, so that signs count what is below: three times as fast as a comparison
        step = (out.sum(1) + total - problem.sizes * level) / (problem.sizes - out.sign().sum(1))
        if falling and bool((step >= -ROUNDING[level.dtype] * level.abs()).all()):
            break
        level, falling = level + (step.clamp(max=0.0) if falling else step), True
    out.view(-1)[problem.inside] = on_support - level[problem.row]
    return level


def tie_correction(
    problem: DualProblem, ties: Float[Tensor, "m V"], steps: int
) -> Float[Tensor, "m V"]:
    """Δ on the supports with Δ1 = 0 and centre(KΔ) = ties, by at most `steps` conjugate gradients:
    what is to be taken from Γ so that its decoder ties all in-support logits. `ties` are these
    logits minus their mean over each support, and zero off it.

    A product costs O(m² V), or O(V n²) if the blocks of K that it needs (of the at most n contexts
    that a token can follow) fit into a few times the memory of K.
    """
    face = problem.support.to(problem.gram.dtype)
    product = support_product(problem) or (lambda x: torch.mm(problem.gram, x))
    # rows of rounded differences do not quite sum to zero, and what they sum to is out of reach
    residual = centre_(ties.to(problem.gram.dtype, copy=True), face)
    solution, direction = torch.zeros_like(residual), residual.clone()
    squared = first = dot(residual, residual)
    for _ in range(steps):
        image = centre_(product(direction), face)
        curvature = dot(direction, image)
        if squared <= FALLEN[face.dtype] * first or curvature <= 0:
            break
        solution.add_(direction, alpha=squared / curvature)
        residual = residual - (squared / curvature) * image
        following = dot(residual, residual)
        direction.mul_(following / squared).add_(residual)
        squared = following
    return solution


def support_product(problem: DualProblem) -> Callable[[Tensor], Tensor] | None:
    """The product of K with a matrix that is zero off the supports, token by token and all at once;
    None if it would need too much memory.
    """
    # the contexts of each token first
    order = torch.argsort((~problem.support).to(torch.uint8), dim=0, stable=True)
    maximum = int(problem.support.sum(0).max())
    if problem.support.shape[1] * maximum**2 > BLOCKS * len(problem.gram) ** 2:
        return None
    # (V, n): some tokens follow fewer contexts, the rest is masked by `centre_`
    rows = order[:maximum].T.contiguous()
    blocks = problem.gram[rows[:, :, None], rows[:, None, :]]

    def product(x: Float[Tensor, "m V"]) -> Float[Tensor, "m V"]:
        # x is zero off the supports, so what the padding picks up adds nothing
        out = torch.bmm(blocks, x.T.gather(1, rows)[:, :, None])[:, :, 0]
        return torch.zeros_like(x.T).scatter_(1, rows, out).T.contiguous()

    return product


def largest_eigenvalue(gram: Float[Tensor, "m m"]) -> float:
    """The largest eigenvalue of a Gram matrix of unit rows, from below, by power iteration. O(m²) a
    step.
    """
    vector = torch.ones(len(gram), dtype=gram.dtype, device=gram.device) + torch.arange(
        len(gram), device=gram.device
    ) / len(gram)
    for _ in range(POWER_STEPS):
        vector = gram @ (vector / torch.linalg.norm(vector))
    return float(torch.linalg.norm(vector))


def centre_(values: Float[Tensor, "m V"], face: Float[Tensor, "m V"]) -> Float[Tensor, "m V"]:
    """In place: 0 off a face (a mask of 0 and 1), and on it the values minus their mean over it,
    row by row.
    """
    values.mul_(face)
    return values.addcmul_(face, (values.sum(1) / face.sum(1))[:, None], value=-1.0)


def dot(x: Tensor, y: Tensor) -> float:
    """The Frobenius inner product."""
    return float(torch.dot(x.reshape(-1), y.reshape(-1)))
