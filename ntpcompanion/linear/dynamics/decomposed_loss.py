"""A decoder in two parts: what lies in F and tends to W*, and what is orthogonal to F and grows. No
cancellation near the floor.
"""

from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import helmert
from scipy.special import logsumexp

from ntpcompanion.checks import checked
from ntpcompanion.linear.separability.compatibility import require_compatible
from ntpcompanion.linear.separability.decision import Verdict, check_separability
from ntpcompanion.linear.separability.ties import unit_rows
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.numerics.memory import check_dense
from ntpcompanion.validation import as_matrix

# Singular values below this share of the largest belong to ties that repeat others (embeddings of
# length 1).
RANK_TOLERANCE = 1e-10

# log (1 + e^x) is e^x to rounding below this.
SMALL_ODDS = -40.0

# Scales below e^-690 are not formed: what they would multiply has long been lost in the rounding of
# what it is added to.
SMALLEST_LOG_SCALE = -690.0

# Off-support probabilities over s above e^300 occur at trial points only; they stay finite so that
# a solver can reject them.
LARGEST_LOG = 300.0


@dataclass(frozen=True, eq=False)
class Bases:
    """Orthonormal decoders that span what gradients of the cross-entropy can move: Σ_z W_z = 0,
    rows in the span of the embeddings.

    Fields
    ------
    finite
        (f, V, d), a basis of F, the decoders that move in-support log-odds.
    growing
        (g, V, d), a basis of the rest, which ties in-support logits.
    """

    finite: Float[np.ndarray, "f V d"]
    growing: Float[np.ndarray, "g V d"]


def split_bases(table: ContextTable) -> Bases:
    """Bases of F and of its complement among the decoders that gradients can reach (Thrampoulidis
    2024, equation 5).

    By one dense singular value decomposition of the ties: O((V r)³) time, O(V² r d) memory, with r
    the rank of the embeddings; seconds up to V r = 2000.
    """
    rows, _ = unit_rows(table.embeddings)
    _, scale, right = np.linalg.svd(rows, full_matrices=False)
    span = right[scale > max(rows.shape) * np.finfo(float).eps * scale[0]]
    contrasts = helmert(table.vocab_size)  # an orthonormal basis of the vectors of R^V without sum
    ties = [np.zeros((1, len(contrasts) * len(span)))]
    for h, inside in zip(rows @ span.T, table.support.toarray(), strict=True):
        if inside.sum() > 1:
            ties.append(np.kron(helmert(int(inside.sum())) @ contrasts[:, inside].T, h))
    _, size, vectors = np.linalg.svd(np.vstack(ties))
    rank = np.count_nonzero(size > RANK_TOLERANCE * size.max(initial=0))
    decoders = contrasts.T @ vectors.reshape(len(vectors), len(contrasts), len(span)) @ span
    return Bases(decoders[:rank], decoders[rank:])


@dataclass(frozen=True, eq=False)
class Point:
    """Probabilities at a decoder, with a scale s divided out of all that tends to zero.

    `scale` is s, but at least e^−690. `log_ratio` is log (q_jz / (q_j(S_j) p_jz)) and `on_support`
    is q_jz, both zero off the supports; `off_support` is q_jv / s, zero on them. `log_odds` are
    those of the tokens off the support against those on it, −inf where all tokens are on it.
    `residual` is (q − p) / s.
    """

    log_scale: float
    scale: float
    log_ratio: Float[np.ndarray, "m V"]
    log_odds: Float[np.ndarray, " m"]
    on_support: Float[np.ndarray, "m V"]
    off_support: Float[np.ndarray, "m V"]
    residual: Float[np.ndarray, "m V"]


class DecomposedLoss:
    """The cross-entropy in coordinates of F and of its complement, with full relative precision
    however close to the floor.

    A decoder is W = W* + s A + B + C, with A in F, B in the rest of what gradients can move, and C
    unmoved. In-support log-odds depend on s A alone, and B moves off-support logits against
    in-support ones. So (q − p) / s on a support is p times the exponential of small numbers minus
    one, and off it, the exponential of a sum of logits: no difference of nearly equal probabilities
    is taken. A and B come as coordinates in `bases`: `finite` (f,) and `growing` (g,).

    Raises ValueError if the table is not compatible: there is no W* then. Cost that of
    `split_bases`, and (m V)(V r) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.linear import ContextTable, DecomposedLoss
    >>> p = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])  # distributions of the next token
    >>> table = ContextTable(np.eye(2), p, np.array([0.5, 0.5]))
    >>> split = DecomposedLoss(table)
    >>> len(split.bases.finite), len(split.bases.growing)  # one tie; what separates the contexts
    (1, 3)
    """

    @checked
    def __init__(self, table: ContextTable) -> None:
        directions = table.vocab_size * min(table.embeddings.shape)
        check_dense("table", 2, (table.next_token.shape[0] * table.vocab_size, directions))
        matched = require_compatible(table)
        self.table, self.finite_part, self.bases = table, matched.finite_part, split_bases(table)
        self.support: Bool[np.ndarray, "m V"] = table.support.toarray()
        self.p, self.weight = table.distributions.toarray(), table.weight
        self.fixed_coordinates = np.tensordot(self.bases.finite, self.finite_part, 2)
        self.finite_logits = self._logits(self.bases.finite)
        # ties: nothing on the supports
        self.growing_logits = self._logits(self.bases.growing)[~self.support.ravel()]
        logits = table.embeddings @ self.finite_part.T
        with np.errstate(divide="ignore"):
            levels = self._level(logits - np.where(self.support, np.log(self.p), 0))
        self.log_odds = np.where(self.support, -np.inf, logits - levels)

    def _logits(self, decoders: Float[np.ndarray, "n V d"]) -> Float[np.ndarray, "mV n"]:
        """Logits of each decoder, less their mean under p_j, context by context: softmax does not
        see what is subtracted.
        """
        logits = np.moveaxis(self.table.embeddings @ np.swapaxes(decoders, 1, 2), 0, -1)
        return (logits - self._level(logits)).reshape(self.p.size, len(decoders))

    def _level(self, logits: np.ndarray) -> np.ndarray:
        return np.expand_dims(np.einsum("jv,jv...->j...", self.p, logits), 1)

    def coordinates(
        self, W: Float[np.ndarray, "V d"]
    ) -> tuple[Float[np.ndarray, " f"], Float[np.ndarray, " g"]]:
        """The coordinates of P_F W − W* and of the part of W that grows, at scale 1."""
        W = as_matrix("W", W, self.finite_part.shape)
        return np.tensordot(self.bases.finite, W - self.finite_part, 2), np.tensordot(
            self.bases.growing, W, 2
        )

    def weights(
        self,
        finite: Float[np.ndarray, " f"],
        growing: Float[np.ndarray, " g"],
        log_scale: float = 0.0,
    ) -> Float[np.ndarray, "V d"]:
        """W* + s A + B: the decoder, without the part that no gradient moves."""
        moved = np.tensordot(np.exp(log_scale) * finite, self.bases.finite, 1)
        return self.finite_part + moved + np.tensordot(growing, self.bases.growing, 1)

    def point(
        self, finite: Float[np.ndarray, " f"], growing: Float[np.ndarray, " g"], log_scale: float
    ) -> Point:
        """The probabilities at W* + s A + B. Cost O(m V (f + g))."""
        scale = float(np.exp(max(log_scale, SMALLEST_LOG_SCALE)))
        moved = scale * (self.finite_logits @ finite).reshape(self.p.shape)
        inside = np.where(self.support, moved, 0.0)
        peak = inside.max(axis=1, keepdims=True)
        # for decoders far from W*; otherwise a sum of small numbers, log (1 + Σ_z p_z (e^x − 1))
        shift = np.where(peak > 1, peak, 0.0)
        normalizer = shift + np.log1p(
            (self.p * np.expm1(inside - shift)).sum(axis=1, keepdims=True)
        )
        log_ratio = np.where(self.support, moved - normalizer, 0.0)
        odds = self.log_odds + moved - normalizer
        odds[~self.support] += self.growing_logits @ growing
        total = np.logaddexp.reduce(odds, axis=1, keepdims=True)
        lost = np.logaddexp(0, total)  # −log q(S)
        step = self.p * np.expm1(log_ratio)
        off = np.exp(np.minimum(odds - lost - log_scale, LARGEST_LOG))
        residual = np.where(
            self.support,
            step / scale - off.sum(axis=1, keepdims=True) * (self.p + step),
            off,
        )
        return Point(
            log_scale,
            scale,
            log_ratio,
            total[:, 0],
            (self.p + step) * np.exp(-lost),
            off,
            residual,
        )

    def gradient(self, point: Point) -> tuple[Float[np.ndarray, " f"], Float[np.ndarray, " g"]]:
        """∇CE / s in both coordinates. The growing part is a sum of off-support probabilities
        only.
        """
        residual = (self.weight[:, None] * point.residual).ravel()
        return residual @ self.finite_logits, residual[~self.support.ravel()] @ self.growing_logits

    def hessian(
        self, point: Point
    ) -> tuple[Float[np.ndarray, "f f"], Float[np.ndarray, "f g"], Float[np.ndarray, "g g"]]:
        """The blocks of ∇²CE: inside F, mixed and divided by s, outside F and divided by s. Cost
        O(m V (f + g)²).
        """
        F, N, off = self.finite_logits, self.growing_logits, ~self.support.ravel()
        probability = self.weight[:, None] * (point.on_support + point.scale * point.off_support)
        small = (self.weight[:, None] * point.off_support).ravel()[off]
        weighted = small[:, None] * N
        mean = self._sum_by_context(probability.ravel()[:, None] * F)
        mean_small = self._sum_by_context(weighted, off)
        per_weight = 1 / self.weight[:, None]
        inside = F.T @ (probability.ravel()[:, None] * F) - mean.T @ (per_weight * mean)
        mixed = F[off].T @ weighted - mean.T @ (per_weight * mean_small)
        return (
            inside,
            mixed,
            N.T @ weighted - point.scale * mean_small.T @ (per_weight * mean_small),
        )

    def limit_curvature(self) -> Float[np.ndarray, "f f"]:
        """The block of ∇²CE inside F in the limit, where q = p: Σ_j π_j Cov_{p_j} of the logits of
        the basis.
        """
        # these logits have mean zero under p
        probability = (self.weight[:, None] * self.p).ravel()
        return self.finite_logits.T @ (probability[:, None] * self.finite_logits)

    def _sum_by_context(
        self, values: Float[np.ndarray, "rows n"], rows: Bool[np.ndarray, " mV"] | None = None
    ) -> Float[np.ndarray, "m n"]:
        if rows is not None:
            scattered = np.zeros((rows.size, values.shape[1]))
            scattered[rows] = values
            values = scattered
        return values.reshape(*self.p.shape, values.shape[1]).sum(axis=1)

    def log_excess(self, point: Point) -> float:
        """The logarithm of CE − H = Σ_j π_j (−log q(S) + Σ_z p_z (r_z − 1 − log r_z)), r_z = q_z /
        (q(S) p_z). Finite at any scale.
        """
        odds, log_ratio = point.log_odds, point.log_ratio
        within = self.weight @ (self.p * (np.expm1(log_ratio) - log_ratio)).sum(axis=1)
        # log 0 = −inf: contexts with all tokens on their support, one-hot contexts
        with np.errstate(divide="ignore"):
            lost = np.where(odds < SMALL_ODDS, odds, np.log(np.logaddexp(0, odds)))
            return float(
                np.logaddexp(np.logaddexp.reduce(np.log(self.weight) + lost), np.log(within))
            )

    def largest_change(
        self, finite: Float[np.ndarray, " f"], growing: Float[np.ndarray, " g"]
    ) -> float:
        """The largest range, over contexts, of the logits of the decoder A + B."""
        logits = self.finite_logits @ finite
        logits[~self.support.ravel()] += self.growing_logits @ growing
        return float(np.ptp(logits.reshape(self.p.shape), axis=1).max())


class UnevenLoss(DecomposedLoss):
    """The same where probabilities may be below the rounding of 1, as those of implied tables."""

    def point(
        self, finite: Float[np.ndarray, " f"], growing: Float[np.ndarray, " g"], log_scale: float
    ) -> Point:
        """As that of `DecomposedLoss`: taken from W* + s A, whose distributions on the supports are
        p + step, with another log Σ_z p_z e^x far from W*.
        """
        scale = np.exp(max(log_scale, SMALLEST_LOG_SCALE))
        moved = scale * (self.finite_logits @ finite).reshape(self.p.shape)
        inside = np.where(self.support, moved, 0.0)
        near = np.log1p((self.p * np.expm1(np.minimum(inside, 1.0))).sum(axis=1, keepdims=True))
        far = logsumexp(inside, axis=1, keepdims=True, b=self.p)
        moved -= np.where(inside.max(axis=1, keepdims=True) > 1, far, near)
        log_ratio, base = np.where(self.support, moved, 0.0), copy(self)
        step = self.p * np.expm1(log_ratio)
        base.p, base.log_odds = self.p + step, self.log_odds + moved
        point = DecomposedLoss.point(base, 0 * finite, growing, log_scale)
        return replace(point, log_ratio=log_ratio, residual=point.residual + step / scale)


def separable_loss(table: ContextTable, purpose: str) -> DecomposedLoss:
    """The split loss of a table that must be separable; `purpose` says for what. Raises ValueError
    if the table is incompatible, or not proved separable.
    """
    loss = DecomposedLoss(table)
    verdict = check_separability(table).verdict
    if verdict is not Verdict.SEPARABLE:
        raise ValueError(
            f"`table` must be separable, {purpose}; `check_separability` says {verdict.name}."
        )
    return loss
