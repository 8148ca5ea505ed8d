"""Metrics in which the two variants of each content lie at equal distances from its neutral text.

A content has the embeddings x⁺, x⁻ and x⁰. Its shift is v = x⁺ − x⁻, its asymmetry
s = x⁺ + x⁻ − 2 x⁰. Embeddings P x have the metric M = PᵀP, in which the gap of squared distances
is sᵀ M v: linear in M.
"""

from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from ntpcompanion.checks import Between, Is, Range, Shape, checked, need

Points = Annotated[ArrayLike, Shape("n d")]
LARGE = 1e6  # norm from which on a sum of gap matrices counts as one without negative eigenvalues
MAX_NEWTON_STEPS = 500


@checked
def distance_gaps(
    asymmetries: Points, shifts: Points, metric: Annotated[ArrayLike, Shape("d d")]
) -> Float[np.ndarray, " n"]:
    """The squared distance of the first variant from the neutral text less that of the second.

    Parameters
    ----------
    asymmetries, shifts
        (n, d), s and v of each content.
    metric
        (d, d), M.

    Returns
    -------
    np.ndarray
        (n,), sᵀ M v.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.adaptation import distance_gaps
    >>> distance_gaps([[0.0, 1.0]], [[1.0, 2.0]], np.eye(2)).tolist()
    [2.0]
    """
    s, v = np.asarray(asymmetries, dtype=float), np.asarray(shifts, dtype=float)
    return np.asarray(((s @ np.asarray(metric)) * v).sum(axis=1))


@checked
def equalizing_metric(
    asymmetries: Points, shifts: Points, ridge: Annotated[float, Between(0, np.inf)]
) -> Float[np.ndarray, "d d"]:
    """The metric M without negative eigenvalues that makes Σ_c g_c(M)² / Σ_c g_c(I)² +
    ridge · ‖M − I‖² least, where g_c are the gaps.

    Parameters
    ----------
    asymmetries, shifts
        (n, d), s and v of each content.
    ridge
        the smaller, the nearer M is to the metric nearest to I in which all gaps are zero.

    Returns
    -------
    np.ndarray
        (d, d); I if its gaps are zero.

    Raises
    ------
    RuntimeError
        the iteration has not converged, as with a ridge so small that rounding decides.

    Notes
    -----
    M = [I − Σ_c a_c A_c]₊ with A_c = (s vᵀ + v sᵀ) / 2, where [·]₊ drops negative eigenvalues. If
    there are none to drop, a solves n linear equations; otherwise it maximizes the concave dual, by
    L-BFGS. O(n² (n + d) + d³), or that for each iteration. Source: derived in the chapter
    `fair_embeddings`.

    Examples
    --------
    >>> from ntpcompanion.adaptation import equalizing_metric
    >>> equalizing_metric([[1.0, 0.0]], [[1.0, 0.0]], ridge=1e-9).round(6).tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    s, v = np.asarray(asymmetries, dtype=float), np.asarray(shifts, dtype=float)
    gaps = (s * v).sum(axis=1)
    weight = ridge * float(gaps @ gaps)
    if weight == 0:
        return np.eye(s.shape[1])
    products = ((s @ s.T) * (v @ v.T) + (s @ v.T) * (v @ s.T)) / 2
    start = np.linalg.solve(products + weight * np.eye(len(s)), gaps)

    def parts(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eigh(_unit_less(a, s, v))
        return values, vectors

    def dual(a: np.ndarray) -> tuple[float, np.ndarray]:
        values, vectors = parts(a)
        metric = (vectors * values.clip(0)) @ vectors.T
        slope = weight * a - distance_gaps(s, v, metric)
        return float(((values.clip(0) ** 2).sum() + weight * a @ a) / 2), slope

    if parts(start)[0][0] < 0:
        options = {"maxiter": 20_000, "maxfun": 20_000, "ftol": 0.0, "gtol": 0.0, "maxcor": 50}
        start = minimize(dual, start, jac=True, method="L-BFGS-B", options=options).x
        if np.linalg.norm(dual(start)[1]) > 1e-4 * np.linalg.norm(gaps):
            raise RuntimeError(f"The metric has not converged at `ridge` = {ridge}: take more.")
    values, vectors = parts(start)
    return np.asarray((vectors * values.clip(0)) @ vectors.T)


@checked
def common_shift_metric(
    asymmetries: Points,
    shift: Annotated[ArrayLike, Shape("d"), Is(np.any, "have an entry that is not 0")],
) -> tuple[Float[np.ndarray, "d d"], float]:
    """The metric nearest to I in which all gaps are zero, where all contents have the same shift v.

    Parameters
    ----------
    asymmetries
        (n, d), s of each content.
    shift
        (d,), v, not zero.

    Returns
    -------
    tuple of np.ndarray and float
        I − (t vᵀ + v tᵀ) / (‖v‖² + ‖t‖²), where t is the projection of v on the span of the
        asymmetries, and (1 − ρ²) / (1 + ρ²) with ρ = ‖t‖ / ‖v‖, the fraction of ‖v‖² that it
        leaves. The fraction is zero if and only if v lies in that span; then every metric with zero
        gaps loses v.

    Examples
    --------
    >>> from ntpcompanion.adaptation import common_shift_metric
    >>> round(common_shift_metric([[1.0, 0.0]], [1.0, 1.0])[1], 6)
    0.333333
    """
    s, v = np.asarray(asymmetries, dtype=float), np.asarray(shift, dtype=float)
    _, sizes, rows = np.linalg.svd(s, full_matrices=False)
    rows = rows[sizes > 1e-10 * max(sizes[0], 1e-300)]
    t = rows.T @ (rows @ v)
    rho2 = float(t @ t / (v @ v))
    metric = np.eye(len(v)) - (np.outer(t, v) + np.outer(v, t)) / (v @ v + t @ t)
    return metric, (1 - rho2) / (1 + rho2)


@checked
def lossless_metric(asymmetries: Points, shifts: Points) -> Float[np.ndarray, "d d"] | None:
    """A metric with positive eigenvalues in which all gaps are zero; None if there is none, as some
    weighted sum of the gap matrices A_c has no negative eigenvalue.

    Parameters
    ----------
    asymmetries, shifts
        (n, d), s and v of each content.

    Returns
    -------
    np.ndarray or None
        the inverse of I − Σ_c a_c A_c at the maximum of its determinant, by Newton's method; None
        once that matrix has grown beyond LARGE, so that the sum has no eigenvalue below −1 / LARGE
        of its norm.

    Raises
    ------
    RuntimeError
        neither after MAX_NEWTON_STEPS steps.

    Notes
    -----
    O(n d³ + n² d² + n³) a step; 10 to 60 steps.

    Examples
    --------
    >>> from ntpcompanion.adaptation import lossless_metric
    >>> lossless_metric([[1.0, 0.0]], [[1.0, 0.0]]) is None
    True
    """
    s, v = np.asarray(asymmetries, dtype=float), np.asarray(shifts, dtype=float)
    s = s / np.linalg.norm(s, axis=1, keepdims=True).clip(1e-300)
    v = v / np.linalg.norm(v, axis=1, keepdims=True).clip(1e-300)
    a = np.zeros(len(s))
    matrices = (s[:, :, None] * v[:, None, :] + v[:, :, None] * s[:, None, :]) / 2
    for _ in range(MAX_NEWTON_STEPS):
        inner = _unit_less(a, s, v)
        if np.linalg.norm(inner) > LARGE:
            return None
        metric = np.linalg.inv(inner)
        products = matrices @ metric
        slope = products.trace(axis1=1, axis2=2)
        curvature = np.einsum("nij,mji->nm", products, products)
        step = np.linalg.lstsq(curvature, -slope, rcond=1e-12)[0]
        decrement = max(float(-slope @ step), 0.0) ** 0.5
        if decrement < 1e-9:
            return np.asarray(metric)
        a = a + (step if decrement < 0.25 else step / (1 + decrement))
    raise RuntimeError(f"No verdict after {MAX_NEWTON_STEPS} steps of Newton's method.")


@checked(need("count", "count <= d", "be at most the dimension {d}"))
def without_directions(shifts: Points, count: Annotated[int, Range(0)]) -> Float[np.ndarray, "d d"]:
    """The projection that drops the directions in which shifts are largest, a map and a metric.

    Parameters
    ----------
    shifts
        (n, d), v of each content.
    count
        how many leading right singular vectors of `shifts` are dropped.

    Returns
    -------
    np.ndarray
        (d, d).

    Examples
    --------
    >>> from ntpcompanion.adaptation import without_directions
    >>> without_directions([[0.0, 2.0], [0.0, 1.0]], 1).round(6).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    v = np.asarray(shifts, dtype=float)
    rows = np.linalg.svd(v, full_matrices=False)[2][:count]
    return np.asarray(np.eye(v.shape[1]) - rows.T @ rows)


def _unit_less(a: np.ndarray, s: np.ndarray, v: np.ndarray) -> np.ndarray:
    """I − Σ_c a_c A_c."""
    total = (a[:, None] * s).T @ v
    return np.asarray(np.eye(s.shape[1]) - (total + total.T) / 2)
