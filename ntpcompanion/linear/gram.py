"""The dual of the next-token SVM on the Gram matrix of the contexts: ascent by projected gradients,
and by conjugate gradients on a face.

Everything here is in unit embeddings U and thresholds c_j = 1/‖h_j‖: a margin of 1 for h_j is one
of c_j for u_j.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

# The largest eigenvalue by power iteration is a little too small; `ascend` corrects what this does
# not cover.
POWER_STEPS, HEADROOM = 60, 1.02
# Conjugate gradients stop when the squared residual has fallen to rounding.
FALLEN = {torch.float64: 1e-28, torch.float32: 1e-12}
# Residuals below so many roundings of KΓ are noise: conjugate gradients would follow them anywhere.
NOISE = 10
# The level of a projection is found when no Newton step lowers it by more than this share.
ROUNDING, NEWTON_STEPS = 1e-15, 100
# Blocks of K may need this many times its memory.
BLOCKS = 4
# A direction whose curvature is below this share of the largest eigenvalue is a ray: the dual grows
# along it without bound.
FLAT = 1e-13


@dataclass
class GramDual:
    """maximize ⟨G, Γ⟩ − ½ tr(Γᵀ K Γ) over Γ1 = 0, Γ ≤ 0 off support; G = 0 on the supports and −c_j
    off them (dual of definition 3).

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
        # places of the supports in a flattened (m, V) matrix, and their rows
        self.inside = self.support.flatten().nonzero()[:, 0]
        self.row = self.inside // self.support.shape[1]
        self.lipschitz = HEADROOM * largest_eigenvalue(self.gram)
        # where the last projection cut: the next one starts there
        self.level = torch.zeros_like(self.threshold)
        self.products = 0  # of K with an (m, V) matrix: the cost of all that happens here

    def start(self) -> "Point":
        """Γ = 0."""
        zero = torch.zeros(self.support.shape, dtype=self.gram.dtype, device=self.gram.device)
        return Point(zero, zero.clone())

    def times_gram(
        self, gamma: Float[Tensor, "m V"], out: Float[Tensor, "m V"] | None = None
    ) -> Float[Tensor, "m V"]:
        """K Γ, counted."""
        self.products += 1
        return torch.mm(self.gram, gamma, out=out)

    def linear(self, gamma: Float[Tensor, "m V"]) -> float:
        """⟨G, Γ⟩ = −Σ_j c_j Σ_{v ∉ S_j} Γ_jv = Σ_j c_j Σ_{z ∈ S_j} Γ_jz, as rows sum to zero."""
        return float(self.threshold[self.row] @ gamma.flatten()[self.inside])

    def uphill(self, gram_gamma: Float[Tensor, "m V"]) -> Float[Tensor, "m V"]:
        """G − KΓ, the gradient."""
        return torch.where(self.support, -gram_gamma, -gram_gamma - self.threshold[:, None])

    def project_(
        self, values: Float[Tensor, "m V"], out: Float[Tensor, "m V"]
    ) -> Float[Tensor, "m V"]:
        """The nearest Γ with Γ1 = 0 and Γ ≤ 0 off support: x − ν on the support, min(x − ν, 0) off
        it, with the ν that makes the sum 0.

        It is written to `out`; `values` lose what they have on the supports. The sum is concave and
        decreasing in ν: one Newton step from anywhere lands above the root, the next ones fall onto
        it.
        """
        on_support = values.flatten()[self.inside]
        total = torch.zeros_like(self.threshold).index_add_(0, self.row, on_support)
        values.view(-1)[self.inside] = torch.inf
        level, falling = self.level, False
        for _ in range(NEWTON_STEPS):
            torch.sub(values, level[:, None], out=out).clamp_(max=0.0)
            step = (out.sum(1) + total - self.sizes * level) / (
                self.sizes + torch.count_nonzero(out, 1)
            )
            if falling and bool((step >= -ROUNDING * level.abs()).all()):
                break
            level, falling = level + (step.clamp(max=0.0) if falling else step), True
        self.level = level
        out.view(-1)[self.inside] = on_support - level[self.row]
        return out

    def ascend(self, point: "Point", steps: int) -> "Point":
        """Accelerated projected gradient with restarts (Nesterov; O'Donoghue and Candès 2015). One
        product with K a step.

        Six (m, V) matrices, reused: at these sizes fresh memory costs more than arithmetic.
        """
        goal = self.uphill(torch.zeros_like(point.gamma)).div_(self.lipschitz)
        old, ahead = (
            Point(point.gamma.clone(), point.gram_gamma.clone()),
            Point(point.gamma.clone(), point.gram_gamma.clone()),
        )
        new, target, momentum = self.start(), torch.empty_like(goal), 1.0
        for _ in range(steps):
            torch.add(ahead.gamma, ahead.gram_gamma, alpha=-1 / self.lipschitz, out=target).add_(
                goal
            )
            self.project_(target, out=new.gamma)
            self.times_gram(new.gamma, out=new.gram_gamma)
            turned = (
                _dot(ahead.gamma, new.gamma)
                - _dot(ahead.gamma, old.gamma)
                - _dot(new.gamma, new.gamma)
                + _dot(new.gamma, old.gamma)
            )
            if turned > 0:
                momentum, share = 1.0, 0.0
            else:
                following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
                momentum, share = following, (momentum - 1) / following
            torch.mul(new.gamma, 1 + share, out=ahead.gamma).add_(old.gamma, alpha=-share)
            torch.mul(new.gram_gamma, 1 + share, out=ahead.gram_gamma).add_(
                old.gram_gamma, alpha=-share
            )
            old, new = new, old
        move, gram_move = old.gamma - new.gamma, old.gram_gamma - new.gram_gamma
        if (curvature := _dot(move, gram_move)) > self.lipschitz * _dot(move, move):
            self.lipschitz = HEADROOM * curvature / _dot(move, move)
        return old

    def polish(self, point: "Point", steps: int, close: float) -> "Point":
        """The maximum over the face of Γ (entries that are zero off support stay there) by
        conjugate gradients, as far as it is feasible.

        On the right face this is the solution to rounding. On a wrong one, the way there is cut off
        at the boundary, or bent along it where that goes higher (Moré and Toraldo 1991). Ends early
        where no margin on the face is off by more than `close` · c_j.
        """
        face = (self.support | (point.gamma < 0)).to(self.gram.dtype)
        noise = (
            NOISE * torch.finfo(face.dtype).eps * self.lipschitz * float(point.gamma.abs().max())
        )
        enough = max(close * float(self.threshold.min()), noise)
        move, gram_move, ray = self._towards(
            centre_(self.uphill(point.gram_gamma), face), face, steps, enough
        )
        if ray is not None:  # as far as Γ is long, and on in the next round
            move = ray * ((1 + torch.linalg.norm(point.gamma)) / torch.linalg.norm(ray))
            gram_move = self.times_gram(move)
        shrinking = ~self.support & (move > 0)  # nothing moves off the face
        room = (
            float((-point.gamma[shrinking] / move[shrinking]).min())
            if bool(shrinking.any())
            else math.inf
        )
        straight = min(1.0, room)
        best = Point(point.gamma + straight * move, point.gram_gamma + straight * gram_move)
        best = Point(
            torch.where(self.support, best.gamma, best.gamma.clamp(max=0.0)), best.gram_gamma
        )
        height, share = self.height(best), 1.0
        while share > straight and share > 1e-3:
            bent = self.project_(point.gamma + share * move, out=torch.empty_like(move))
            bent = Point(bent, self.times_gram(bent))
            if self.height(bent) > height:
                return bent
            share /= 4
        return best

    def _towards(
        self, residual: Float[Tensor, "m V"], face: Float[Tensor, "m V"], steps: int, enough: float
    ) -> tuple[Float[Tensor, "m V"], Float[Tensor, "m V"], Float[Tensor, "m V"] | None]:
        """The way to the maximum over a face (a mask of 0 and 1), its product with K, and the ray
        that ended the search or None.
        """
        move, gram_move, direction = (
            torch.zeros_like(residual),
            torch.zeros_like(residual),
            residual.clone(),
        )
        image, centred = torch.empty_like(residual), torch.empty_like(residual)
        squared = start = _dot(residual, residual)
        for _ in range(steps):
            if squared <= FALLEN[residual.dtype] * start or float(residual.abs().max()) <= enough:
                break
            self.times_gram(direction, out=image)
            centre_(centred.copy_(image), face)
            curvature = _dot(direction, centred)
            if curvature <= FLAT * self.lipschitz * _dot(direction, direction):
                return move, gram_move, direction
            length = squared / curvature
            move.add_(direction, alpha=length)
            gram_move.add_(image, alpha=length)
            residual.sub_(centred, alpha=length)
            following = _dot(residual, residual)
            direction.mul_(following / squared).add_(residual)
            squared = following
        return move, gram_move, None

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
        """Δ on the supports with Δ1 = 0 and centre(KΔ) = ties: what is to be taken from Γ so that
        its decoder ties.

        Conjugate gradients. A product costs O(m² V), or O(V n²) if the blocks of K that it needs
        (of the at most n contexts that a token can follow) fit into a few times the memory of K.
        """
        face = self.support.to(self.gram.dtype)
        product = self._blocks() or (lambda x: torch.mm(self.gram, x))
        residual = ties.to(self.gram.dtype)
        solution, direction = torch.zeros_like(residual), residual.clone()
        squared = start = _dot(residual, residual)
        for _ in range(steps):
            image = centre_(product(direction), face)
            curvature = _dot(direction, image)
            if squared <= FALLEN[face.dtype] * start or curvature <= 0:
                break
            solution.add_(direction, alpha=squared / curvature)
            residual = residual - (squared / curvature) * image
            following = _dot(residual, residual)
            direction.mul_(following / squared).add_(residual)
            squared = following
        return solution

    def _blocks(self) -> Callable[[Tensor], Tensor] | None:
        """The product with K on the supports alone, token by token and all at once; None if it
        would need too much memory.
        """
        # the contexts of each token first
        order = torch.argsort((~self.support).to(torch.uint8), dim=0, stable=True)
        most = int(self.support.sum(0).max())
        if self.support.shape[1] * most**2 > BLOCKS * len(self.gram) ** 2:
            return None
        # (V, n): some tokens follow fewer contexts, the rest is masked by `centre_`
        rows = order[:most].T.contiguous()
        blocks = self.gram[rows[:, :, None], rows[:, None, :]]

        def product(x: Float[Tensor, "m V"]) -> Float[Tensor, "m V"]:
            # x is zero off the supports, so what the padding picks up adds nothing
            out = torch.bmm(blocks, x.T.gather(1, rows)[:, :, None])[:, :, 0]
            return torch.zeros_like(x.T).scatter_(1, rows, out).T.contiguous()

        return product


@dataclass
class Point:
    """Γ with KΓ, both (m, V)."""

    gamma: Float[Tensor, "m V"]
    gram_gamma: Float[Tensor, "m V"]

    @property
    def square(self) -> float:
        """tr(Γᵀ K Γ), the squared norm of its decoder."""
        return _dot(self.gamma, self.gram_gamma)


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


def _dot(x: Tensor, y: Tensor) -> float:
    return float(torch.dot(x.reshape(-1), y.reshape(-1)))
