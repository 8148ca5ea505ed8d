"""Adjusting the logits of a trained classifier: one number for each class, or a few for a map from
attributes of the classes (after Menon et al. 2021 and Zhang et al. 2024).
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.checks import NotNegative, Range, Shape, checked
from ntpcompanion.validation import as_array

NEWTON_STEPS = 100


@dataclass(frozen=True, eq=False)
class Adjustment:
    """Logits times a scale plus a shift for each class.

    Fields
    ------
    scale
        κ, of all logits.
    coefficients
        w (p,), of the features.
    shifts
        s (K,), the features of each class times w.
    """

    scale: float
    coefficients: Float[np.ndarray, " p"]
    shifts: Float[np.ndarray, " K"]

    def apply(self, logits: Float[np.ndarray, "n K"]) -> Float[np.ndarray, "n K"]:
        """κ f(x) + s for each row f(x)."""
        return self.scale * logits + self.shifts


@checked
def fit_adjustment(
    logits: Annotated[ArrayLike, Shape("n K")],
    labels: Annotated[ArrayLike, Shape("n", integers=True), Range(0, "K - 1")],
    features: Annotated[ArrayLike, Shape("K p")],
    ridge: NotNegative = 0.0,
) -> Adjustment:
    """Fit a scale and shifts to a validation sample by the mean cross-entropy.

    Parameters
    ----------
    logits
        f (n, K) of the validation examples; for the balanced loss, as many of each class.
    labels
        (n,), from 0 to K − 1.
    features
        F (K, p), a row for each class; the identity for a free shift of each class.
    ridge
        r, of the penalty r ‖w‖²/2 on the coefficients.

    Returns
    -------
    Adjustment
        the minimizer over κ and w of the cross-entropy of the logits κ f + F w.

    Raises
    ------
    ValueError
        shapes that do not fit, labels that are not classes, a negative ridge.

    Notes
    -----
    The loss is convex in (κ, w): Newton's method with step halving, each step O(n (K² + p²)).
    Where a large scale fits all labels there is no minimizer; the result then has a loss near 0.

    Examples
    --------
    Odds of 3 and 1/3 where the logits differ by 2 and 1:

    >>> import numpy as np
    >>> from ntpcompanion.adaptation import fit_adjustment
    >>> logits, labels = [[2.0, 0.0]] * 4 + [[1.0, 0.0]] * 4, np.array([0, 0, 0, 1, 1, 1, 1, 0])
    >>> found = fit_adjustment(logits, labels, np.eye(2))
    >>> (found.apply(np.array([[2.0, 0.0]])) @ [1, -1] / np.log(3)).round(6).tolist()
    [1.0]
    """
    f, y = np.ascontiguousarray(as_array("logits", logits).T), np.asarray(labels)
    rows = as_array("features", features)
    point = np.append(1.0, np.zeros(rows.shape[1]))
    value, probabilities = _loss(point, f, y, rows, ridge)
    for _ in range(NEWTON_STEPS):
        gradient, hessian = _derivatives(point, probabilities, f, y, rows, ridge)
        step = np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0]
        decrease = gradient @ step
        if decrease < 1e-10:
            break
        size = 1.0
        while (new := _loss(point - size * step, f, y, rows, ridge))[
            0
        ] > value - size * decrease / 4:
            size /= 2
        point = point - size * step
        value, probabilities = new
    return Adjustment(float(point[0]), point[1:], rows @ point[1:])


def _loss(
    point: np.ndarray, f: np.ndarray, y: np.ndarray, rows: np.ndarray, ridge: float
) -> tuple[float, np.ndarray]:
    """The penalized cross-entropy, and the probabilities; these and f are (K, n) for speed."""
    logits = point[0] * f + (rows @ point[1:])[:, None]
    logits -= logits.max(0)
    right = logits[y, np.arange(len(y))]
    p = np.exp(logits, out=logits)
    sums = p.sum(0)
    p /= sums
    loss = (np.log(sums) - right).mean() + ridge * point[1:] @ point[1:] / 2
    return float(loss), p


def _derivatives(
    point: np.ndarray, p: np.ndarray, f: np.ndarray, y: np.ndarray, rows: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient and Hessian in (κ, w): mean covariances of (f, F) under the probabilities."""
    n, coefficients = len(y), point[1:]
    weighted, totals = p * f, p.sum(1)
    means = weighted.sum(0)
    slope = means.sum() - f[y, np.arange(n)].sum()
    pull = rows.T @ (totals - np.bincount(y, minlength=len(f)))
    gradient = np.append(slope / n, pull / n + ridge * coefficients)
    hessian = np.diag(np.append(0.0, np.full(len(coefficients), ridge)))
    hessian[0, 0] = (np.vdot(weighted, f) - means @ means) / n
    hessian[0, 1:] = hessian[1:, 0] = rows.T @ (weighted.sum(1) - p @ means) / n
    hessian[1:, 1:] += rows.T @ (np.diag(totals) - p @ p.T) @ rows / n
    return gradient, hessian
