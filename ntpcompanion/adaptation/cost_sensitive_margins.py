"""Which margin should each of two Gaussian classes get? Cost-sensitive support vector machines, and
how their best margin depends on size and noise of the classes (after Zhang et al. 2024).
"""

from typing import Annotated, NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import ndtr

from ntpcompanion.checks import Between, Is, Positive, Shape, Size, checked
from ntpcompanion.validation import as_array

Labels = Annotated[
    ArrayLike,
    Shape("n"),
    Is(lambda y: set(np.asarray(y).tolist()) == {-1, 1}, "hold -1 and 1, both of them"),
]
Pair = Annotated[ArrayLike, Shape("2")]  # of the positive class and of the negative one
Deviations = Annotated[ArrayLike, Shape("2"), Between(0, np.inf)]


class LinearClassifier(NamedTuple):
    """The sign of ⟨w, x⟩ + b."""

    weights: Float[np.ndarray, " d"]
    bias: float


class Scores(NamedTuple):
    """What a classifier gives Gaussian classes, the positive one first: means and deviations."""

    means: Float[np.ndarray, " 2"]
    deviations: Float[np.ndarray, " 2"]


@checked
def cost_sensitive_svm(
    inputs: Annotated[ArrayLike, Shape("n d")], labels: Labels, delta: Positive = 1.0
) -> LinearClassifier:
    """Minimize ‖w‖² with ⟨w, x⟩ + b ≥ δ on the positive class and ≤ −1 on the negative one.

    Parameters
    ----------
    inputs
        x (n, d), rows.
    labels
        (n,), each 1 or −1.
    delta
        δ, the margin of the positive class; 1 for the usual support vector machine.

    Returns
    -------
    LinearClassifier
        w and b, to about 1e-8.

    Raises
    ------
    ValueError
        other shapes or labels, a δ that is not positive, data that no hyperplane separates.

    Notes
    -----
    A quadratic program in the coordinates of the span, solved by Clarabel: 20 ms for n = 50.

    Examples
    --------
    >>> from ntpcompanion.adaptation import cost_sensitive_svm
    >>> w, b = cost_sensitive_svm([[1.0], [-1.0]], [1, -1], delta=3)
    >>> w.round(6).tolist(), round(b, 6)
    ([2.0], 1.0)
    """
    import cvxpy as cp

    x, y = as_array("inputs", inputs), as_array("labels", labels)
    basis, coordinates = np.linalg.qr(x.T)
    v, b = cp.Variable(basis.shape[1]), cp.Variable()
    margins = np.where(y > 0, delta, 1.0)
    constraints = [cp.multiply(y, coordinates.T @ v + b) >= margins]
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-12)
    cp.Problem(cp.Minimize(cp.sum_squares(v)), constraints).solve(solver="CLARABEL", **tight)
    if v.value is None:
        raise ValueError("`inputs` must be separable by a hyperplane; these are not.")
    return LinearClassifier(basis @ v.value, float(b.value))


def move_margin(classifier: LinearClassifier, delta: float) -> LinearClassifier:
    """The cost-sensitive machine with margin δ, from that with margin 1 on the same data:
    w (1 + δ)/2 and b (1 + δ)/2 + (δ − 1)/2.

    Parameters
    ----------
    classifier
        the support vector machine with margins 1.
    delta
        δ, positive.

    Returns
    -------
    LinearClassifier
        without another optimization.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.adaptation import move_margin
    >>> from ntpcompanion.adaptation.cost_sensitive_margins import LinearClassifier
    >>> w, b = move_margin(LinearClassifier(np.array([1.0]), 0.0), delta=3)
    >>> w.tolist(), b
    ([2.0], 1.0)
    """
    half = (1 + delta) / 2
    return LinearClassifier(half * classifier.weights, half * classifier.bias + (delta - 1) / 2)


def balanced_error(means: np.ndarray, deviations: np.ndarray) -> float:
    """The mean of the two classes' errors, if scores (2,) are Gaussian and their sign decides."""
    return float(ndtr([-means[0] / deviations[0], means[1] / deviations[1]]).mean())


@checked
def best_delta(means: Pair, deviations: Deviations) -> float:
    """The margin δ of the positive class with the least balanced error.

    With margins 1 the scores of the classes are N(m₊, s₊²) and N(m₋, s₋²). Margin δ adds
    τ = (δ − 1)/(δ + 1), between −1 and 1, up to a positive factor.

    Parameters
    ----------
    means, deviations
        (2,) each, of the scores with margins 1.

    Returns
    -------
    float
        δ* = (1 + τ*)/(1 − τ*); 0 or inf where the best threshold lies outside the margins, so that
        no δ reaches it.

    Raises
    ------
    ValueError
        deviations that are not positive, or a positive class without the larger mean.

    Notes
    -----
    At the best threshold both densities are equal, and that of the positive class becomes the
    larger one: the larger root of a quadratic equation if s₊ > s₋, the smaller one if s₊ < s₋.

    Examples
    --------
    >>> from ntpcompanion.adaptation import best_delta
    >>> best_delta([0.5, -1.5], [1, 1])
    3.0
    """
    (high, low), (s, t) = as_array("means", means), as_array("deviations", deviations)
    if high <= low:
        raise ValueError(f"`means` must be larger for the positive class, got {[high, low]}.")
    # 2 (log of the densities' ratio) = a x² + b x + c
    a, b = 1 / t**2 - 1 / s**2, 2 * (high / s**2 - low / t**2)
    c = low**2 / t**2 - high**2 / s**2 - 2 * np.log(s / t)
    threshold = -2 * c / (b + np.sqrt(max(b**2 - 4 * a * c, 0.0)))  # the root that rises
    shift = float(np.clip(-threshold, -1, 1))
    return (1 + shift) / (1 - shift) if shift < 1 else float("inf")


@checked
def predicted_scores(
    sizes: Deviations, deviations: Deviations, *, separation: Positive, dim: Size
) -> Scores:
    """Scores of the support vector machine, from attributes of the classes alone.

    Classes N(±μ, σ± ² I) in d dimensions, d much larger than the number of examples. The Gram
    matrix is replaced by its mean; then all examples lie on the margins.

    Parameters
    ----------
    sizes, deviations
        n and σ of the positive class and of the negative one.
    separation, dim
        ‖μ‖ and d, much larger than n₊ + n₋.

    Returns
    -------
    Scores
        of new examples, by the machine with margins 1.

    Raises
    ------
    ValueError
        attributes that are not positive.

    Examples
    --------
    >>> from ntpcompanion.adaptation import best_delta, predicted_scores
    >>> scores = predicted_scores([25, 25], [2, 1], separation=4, dim=2000)
    >>> round(best_delta(*scores), 2)
    3.2
    """
    n, s = as_array("sizes", sizes), as_array("deviations", deviations)
    pull = n / (dim * s**2)
    harmonic = 4 * pull.prod() / pull.sum()
    common = 1 / (1 + separation**2 * harmonic)
    bias = common * (pull[0] - pull[1]) / pull.sum()
    along = separation**2 * harmonic * common
    norm = harmonic * common * np.sqrt(separation**2 + 1 / harmonic)
    return Scores(bias + np.array([along, -along]), norm * s)
