"""The dual of the next-token SVM on the Gram matrix of the contexts: ascent by projected gradients, and by conjugate gradients on a face.

Everything here is in unit embeddings U and thresholds c_j = 1/‖h_j‖: a margin of 1 for h_j is one of c_j for u_j.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

# The largest eigenvalue by power iteration is a little too small; `ascend` corrects what this does not cover.
POWER_STEPS, HEADROOM = 60, 1.02
# Conjugate gradients stop when the squared residual has fallen to rounding.
FALLEN = {torch.float64: 1e-28, torch.float32: 1e-12}
# Residuals below so many roundings of KΓ are noise: conjugate gradients would follow them anywhere.
NOISE = 10
# A direction whose curvature is below this share of the largest eigenvalue is a ray: the dual grows along it without bound.
FLAT = 1e-13


@dataclass
class GramDual:
    """maximize ⟨G, Γ⟩ − ½ tr(Γᵀ K Γ) over Γ1 = 0, Γ ≤ 0 off support; G = 0 on the supports and −c_j off them (dual of definition 3).

    Fields
    ------
    gram
        K = U Uᵀ, (m, m). Its dtype and device are those of the whole computation.
    support
        (m, V) mask of the supports.
    threshold
        c, (m,), positive.
    """

    gram: Float[Tensor, "m m"]
    support: Bool[Tensor, "m V"]
    threshold: Float[Tensor, " m"]

    def __post_init__(self) -> None:
        self.sizes = self.support.sum(1).to(self.gram.dtype)
        self.lipschitz = HEADROOM * largest_eigenvalue(self.gram)
        self.level = torch.zeros_like(self.threshold)  # where the last projection cut: the next one starts there
        self.products = 0  # of K with an (m, V) matrix: the cost of all that happens here

    def start(self) -> "Point":
        """Γ = 0."""
        zero = torch.zeros(self.support.shape, dtype=self.gram.dtype, device=self.gram.device)
        return Point(zero, zero.clone())

    def times_gram(self, gamma: Float[Tensor, "m V"]) -> Float[Tensor, "m V"]:
        """K Γ, counted."""
        self.products += 1
        return self.gram @ gamma

    def linear(self, gamma: Float[Tensor, "m V"]) -> float:
        """⟨G, Γ⟩ = −Σ_j c_j Σ_{v ∉ S_j} Γ_jv."""
        return -float(self.threshold @ torch.where(self.support, 0.0, gamma).sum(1))

    def uphill(self, gram_gamma: Float[Tensor, "m V"]) -> Float[Tensor, "m V"]:
        """G − KΓ, the gradient."""
        return torch.where(self.support, -gram_gamma, -gram_gamma - self.threshold[:, None])

    def project(self, values: Float[Tensor, "m V"]) -> Float[Tensor, "m V"]:
        """The nearest Γ with Γ1 = 0 and Γ ≤ 0 off support: x − ν on the support, min(x − ν, 0) off it, with the ν that makes the sum 0.

        The sum is concave and decreasing in ν: one Newton step from anywhere lands above the root, the next ones fall onto it.
        """
        off = torch.where(self.support, torch.inf, values)
        inside = torch.where(self.support, values, 0.0).sum(1)
        level, previous = self.level, None
        while True:
            below = off < level[:, None]
            count = below.sum(1)
            if previous is not None and torch.equal(count, previous):
                break
            level, previous = (inside + torch.where(below, off, 0.0).sum(1)) / (self.sizes + count), count
        self.level = level
        shifted = values - level[:, None]
        return torch.where(self.support, shifted, shifted.clamp(max=0.0))

    def ascend(self, point: "Point", steps: int) -> "Point":
        """Accelerated projected gradient with restarts (Nesterov; O'Donoghue and Candès 2015). One product with K a step."""
        ahead, momentum = point, 1.0
        for _ in range(steps):
            gamma = self.project(ahead.gamma + self.uphill(ahead.gram_gamma) / self.lipschitz)
            new = Point(gamma, self.times_gram(gamma))
            move = new.gamma - point.gamma
            if float(((ahead.gamma - new.gamma) * move).sum()) > 0:
                momentum, share = 1.0, 0.0
            else:
                following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
                momentum, share = following, (momentum - 1) / following
            gram_move = new.gram_gamma - point.gram_gamma
            ahead = Point(new.gamma + share * move, new.gram_gamma + share * gram_move)
            point = new
        curvature, length = float((move * gram_move).sum()), float(move.square().sum())
        if curvature > self.lipschitz * length:
            self.lipschitz = HEADROOM * curvature / length
        return point

    def polish(self, point: "Point", steps: int, close: float) -> "Point":
        """The maximum over the face of Γ (entries that are zero off support stay there) by conjugate gradients, as far as it is feasible.

        On the right face this is the solution to rounding. On a wrong one, the way there is cut off at the boundary, or bent along it
        where that goes higher (Moré and Toraldo 1991). Ends early where no margin on the face is off by more than `close` · c_j.
        """
        face = self.support | (point.gamma < 0)
        noise = NOISE * torch.finfo(point.gamma.dtype).eps * self.lipschitz * float(point.gamma.abs().max())
        move, ray = _conjugate_gradients(
            lambda x: _centre(self.times_gram(x), face),
            _centre(self.uphill(point.gram_gamma), face),
            steps,
            flat=FLAT * self.lipschitz,
            close=(close * self.threshold[:, None]).clamp(min=noise),
        )
        if ray is not None:  # as far as Γ is long, and on in the next round
            move = ray * ((1 + torch.linalg.norm(point.gamma)) / torch.linalg.norm(ray))
        gram_move = self.times_gram(move)
        shrinking = ~self.support & (move > 0) & face
        room = float((-point.gamma[shrinking] / move[shrinking]).min()) if bool(shrinking.any()) else math.inf
        straight = min(1.0, room)
        best = Point(point.gamma + straight * move, point.gram_gamma + straight * gram_move)
        best = Point(torch.where(self.support, best.gamma, best.gamma.clamp(max=0.0)), best.gram_gamma)
        height, share = self.height(best), 1.0
        while share > straight and share > 1e-3:
            bent = self.project(point.gamma + share * move)
            bent = Point(bent, self.times_gram(bent))
            if self.height(bent) > height:
                return bent
            share /= 4
        return best

    def height(self, point: "Point") -> float:
        """The dual objective."""
        return self.linear(point.gamma) - 0.5 * point.square

    def scaled(self, point: "Point") -> "Point":
        """The highest multiple of Γ; Γ itself where it has no length, as on a ray."""
        if point.square <= 0 or self.linear(point.gamma) <= 0:
            return point
        factor = self.linear(point.gamma) / point.square
        return Point(factor * point.gamma, factor * point.gram_gamma)

    def untied(self, ties: Float[Tensor, "m V"], steps: int) -> Float[Tensor, "m V"]:
        """Δ on the supports with Δ1 = 0 and centre(KΔ) = ties: what is to be taken from Γ so that its decoder ties.

        Conjugate gradients on blocks of K, one for each token: the contexts that it can follow. Cost O(Σ_v n_v²) a step.
        """
        face = self.support
        rows = [torch.nonzero(face[:, v])[:, 0] for v in range(face.shape[1])]
        blocks = [(v, index, self.gram[index[:, None], index]) for v, index in enumerate(rows) if len(index)]

        def product(x: Float[Tensor, "m V"]) -> Float[Tensor, "m V"]:
            out = torch.zeros_like(x)
            for v, index, block in blocks:
                out[index, v] = block @ x[index, v]
            return _centre(out, face)

        return _conjugate_gradients(product, ties.to(self.gram.dtype), steps)[0]


@dataclass
class Point:
    """Γ with KΓ, both (m, V)."""

    gamma: Float[Tensor, "m V"]
    gram_gamma: Float[Tensor, "m V"]

    @property
    def square(self) -> float:
        """tr(Γᵀ K Γ), the squared norm of its decoder."""
        return float((self.gamma * self.gram_gamma).sum())


def largest_eigenvalue(gram: Float[Tensor, "m m"]) -> float:
    """The largest eigenvalue of a Gram matrix of unit rows, from below, by power iteration. O(m²) a step."""
    vector = torch.ones(len(gram), dtype=gram.dtype, device=gram.device) + torch.arange(len(gram), device=gram.device) / len(gram)
    for _ in range(POWER_STEPS):
        vector = gram @ (vector / torch.linalg.norm(vector))
    return float(torch.linalg.norm(vector))


def _centre(values: Float[Tensor, "m V"], face: Bool[Tensor, "m V"]) -> Float[Tensor, "m V"]:
    inside = torch.where(face, values, 0.0)
    return torch.where(face, inside - (inside.sum(1) / face.sum(1))[:, None], 0.0)


def _conjugate_gradients(
    product: Callable[[Tensor], Tensor], residual: Tensor, steps: int, flat: float = 0.0, close: Tensor | float = 0.0
) -> tuple[Tensor, Tensor | None]:
    """Solve product(x) = residual: x as far as steps reach, and the ray that ended them (of curvature at most `flat`) or None."""
    x, direction = torch.zeros_like(residual), residual
    squared = start = float(residual.square().sum())
    for _ in range(steps):
        if squared <= FALLEN[residual.dtype] * start or bool((residual.abs() <= close).all()):
            break
        image = product(direction)
        curvature = float((direction * image).sum())
        if curvature <= flat * float(direction.square().sum()):
            return x, direction
        x = x + (squared / curvature) * direction
        residual = residual - (squared / curvature) * image
        following = float(residual.square().sum())
        direction, squared = residual + (following / squared) * direction, following
    return x, None
