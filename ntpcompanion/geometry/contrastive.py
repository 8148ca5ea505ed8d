"""The supervised contrastive loss over free features: its minimizers, each with a proof that it is
the global one (Behnia, Thrampoulidis 2024).
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax

from ntpcompanion.checks import Is, Positive, Range, Shape, checked
from ntpcompanion.geometry.newton import newton
from ntpcompanion.validation import as_array, as_integer_array


@dataclass(frozen=True, eq=False)
class ContrastiveMinimum:
    """A stationary point of the contrastive loss, and how far it can be from the global minimum.

    Fields
    ------
    features
        (n, d), rows of length 1.
    loss
        nats, mean over the samples.
    bound
        no Gram matrix with a diagonal of at most 1, of any rank, has a lower loss.
    iterations
        Newton steps.
    """

    features: Float[np.ndarray, "n d"]
    loss: float
    bound: float
    iterations: int

    @property
    def gap(self) -> float:
        """Loss minus bound (nats), within which the loss is the least one."""
        return max(self.loss - self.bound, 0.0)

    @property
    def gram(self) -> Float[np.ndarray, "n n"]:
        """Inner products of the features."""
        return self.features @ self.features.T


@dataclass(frozen=True, eq=False)
class ClassGram:
    """A Gram matrix of samples, seen by classes.

    Fields
    ------
    means
        (k, k), inner products of the class means; on the diagonal 1 if a class has collapsed.
    spread
        the largest deviation of a sample's inner product from the mean of its two classes.
    """

    means: Float[np.ndarray, "k k"]
    spread: float


Labels = Annotated[
    ArrayLike,
    Shape("n", integers=True),
    Range(0),
    Is(
        lambda labels: min(np.bincount(np.asarray(labels))) > 1 and np.any(np.asarray(labels)),
        "have at least two classes 0 … k − 1 with at least two samples each",
    ),
]


@checked
def contrastive_minimum(
    labels: Labels,
    start: Annotated[
        ArrayLike,
        Shape("n d"),
        Is(lambda start: np.asarray(start).any(1).all(), "have no row of zeros: no direction"),
    ],
    *,
    temperature: Positive,
    tol: float = 1e-10,
    max_iterations: int = 1_000,
) -> ContrastiveMinimum:
    """Minimize the supervised contrastive loss over features on the sphere, from one start.

        1/n Σ_i 1/(n_i − 1) Σ_{j ≠ i, y_j = y_i} log Σ_{l ≠ i} exp((h_iᵀ h_l − h_iᵀ h_j) / τ)

    Parameters
    ----------
    labels
        y (n,), integers 0 … k − 1, each at least twice.
    start
        (n, d), features at the start; only their directions matter.
    temperature
        τ.
    tol
        the certified gap, in nats, at which the search ends.
    max_iterations
        Newton steps at most.

    Returns
    -------
    ContrastiveMinimum
        features with their loss, and a lower bound over all features of length at most 1 in any
        dimension. A local minimum that is not global keeps a gap.

    Raises
    ------
    ValueError
        labels that miss a class or have one sample only, a start that is not finite or has a row of
        zeros, a temperature that is not positive.

    Notes
    -----
    The loss is a convex function f of the Gram matrix G. With C = ∇f(G), ν_i = −(C G)_ii and the
    least eigenvalue −ε of C + diag(ν), every feasible G' has f(G') ≥ f(G) + ⟨C, G' − G⟩ ≥ f(G) −
    ⟨C, G⟩ − Σ_i max(ν_i + ε, 0): the bound. Newton steps in a trust region (scipy's trust-ncg); a
    step costs some ten products of O(n² d), the proof O(n³).

    Examples
    --------
    Two classes of two samples: they collapse to opposite points.

    >>> import numpy as np
    >>> from ntpcompanion.geometry import class_gram, contrastive_minimum
    >>> start = np.random.default_rng(0).standard_normal((4, 3))
    >>> found = contrastive_minimum([0, 0, 1, 1], start, temperature=0.5)
    >>> bool(found.gap < 1e-9), class_gram(found.gram, [0, 0, 1, 1]).means.round(4).tolist()
    (True, [[1.0, -1.0], [-1.0, 1.0]])
    """
    classes, start = as_integer_array("labels", labels), as_array("start", start)
    lengths = np.linalg.norm(start, axis=1, keepdims=True)
    same = (classes[:, None] == classes) & ~np.eye(len(classes), dtype=bool)
    problem = _Loss(same, temperature, start.shape)

    def proved(x: Float[np.ndarray, " nd"]) -> bool:
        features = problem.features(x)
        return problem.value(features @ features.T) - problem.bound(features) <= tol

    end, steps = newton(problem, (start / lengths).ravel(), proved, max_iterations)
    features = problem.features(end)
    loss = problem.value(features @ features.T)
    return ContrastiveMinimum(features, loss, problem.bound(features), steps)


@checked
def class_gram(gram: Annotated[ArrayLike, Shape("n n")], labels: Labels) -> ClassGram:
    """Average the inner products of samples over pairs of classes.

    Parameters
    ----------
    gram
        (n, n), inner products of the samples.
    labels
        y (n,), integers 0 … k − 1, each at least twice.

    Returns
    -------
    ClassGram
        means over pairs of classes, and how far single samples are from them.

    Raises
    ------
    ValueError
        a matrix that is not finite or has no row for each label.

    Examples
    --------
    >>> from ntpcompanion.geometry import class_gram
    >>> found = class_gram([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]], [0, 0, 1, 1])
    >>> found.means.tolist(), found.spread
    ([[1.0, 0.0], [0.0, 1.0]], 0.0)
    """
    classes, matrix = as_integer_array("labels", labels), as_array("gram", gram)
    member = np.eye(classes.max() + 1)[classes]
    weights = member / member.sum(axis=0)
    means = weights.T @ matrix @ weights
    return ClassGram(means, float(np.abs(matrix - means[classes][:, classes]).max()))


@dataclass(frozen=True, eq=False)
class _Loss:
    """The loss as a function of the Gram matrix, and of rows that are divided by their lengths."""

    same: Bool[np.ndarray, "n n"]  # pairs i ≠ j of one class
    temperature: float
    shape: tuple[int, int]

    def features(self, x: Float[np.ndarray, " nd"]) -> Float[np.ndarray, "n d"]:
        rows = x.reshape(self.shape)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    @property
    def positives(self) -> Float[np.ndarray, "n n"]:
        return self.same / self.same.sum(axis=1, keepdims=True)

    def others(self, gram: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
        """G / τ with −∞ on the diagonal: a sample is not compared with itself."""
        scaled = gram / self.temperature
        np.fill_diagonal(scaled, -np.inf)
        return scaled

    def value(self, gram: Float[np.ndarray, "n n"]) -> float:
        others = logsumexp(self.others(gram), axis=1)
        return float((others - (self.positives * gram).sum(axis=1) / self.temperature).mean())

    def slope(self, gram: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
        """∇f(G), symmetric."""
        slope = (softmax(self.others(gram), axis=1) - self.positives) / self.temperature
        return (slope + slope.T) / 2 / len(gram)

    def bound(self, features: Float[np.ndarray, "n d"]) -> float:
        gram = features @ features.T
        slope = self.slope(gram)
        multipliers = -np.einsum("ij,ji->i", slope, gram)
        smallest = float(np.linalg.eigvalsh(slope + np.diag(multipliers))[0])
        paid = np.maximum(multipliers - min(smallest, 0.0), 0.0).sum()
        return self.value(gram) - float((slope * gram).sum()) - float(paid)

    def value_and_gradient(
        self, x: Float[np.ndarray, " nd"]
    ) -> tuple[float, Float[np.ndarray, " nd"]]:
        H, lengths = self.features(x), np.linalg.norm(x.reshape(self.shape), axis=1)[:, None]
        gram = H @ H.T
        moved = 2 * self.slope(gram) @ H
        across = moved - (moved * H).sum(axis=1, keepdims=True) * H
        return self.value(gram), (across / lengths).ravel()

    def hessian_product(
        self, x: Float[np.ndarray, " nd"], v: Float[np.ndarray, " nd"]
    ) -> Float[np.ndarray, " nd"]:
        """The derivative of the gradient along v."""
        H, lengths = self.features(x), np.linalg.norm(x.reshape(self.shape), axis=1)[:, None]
        V = v.reshape(self.shape) / lengths
        radial = (V * H).sum(axis=1, keepdims=True)
        tangent = V - radial * H
        gram, change = H @ H.T, tangent @ H.T + H @ tangent.T
        q = softmax(self.others(gram), axis=1)
        slope_change = q * (change - (q * change).sum(axis=1, keepdims=True)) / self.temperature**2
        slope_change = (slope_change + slope_change.T) / 2 / len(gram)
        slope = self.slope(gram)
        moved, moves = 2 * slope @ H, 2 * (slope_change @ H + slope @ tangent)
        along = (moved * H).sum(axis=1, keepdims=True)
        across = moved - along * H
        along_moves = (moves * H + moved * tangent).sum(axis=1, keepdims=True)
        tangent_across = moves - along_moves * H - along * tangent
        return ((tangent_across - radial * across) / lengths).ravel()
