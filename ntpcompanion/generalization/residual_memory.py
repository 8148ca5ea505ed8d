"""A linear model whose norm is bounded, and a nearest-neighbour memory of its residuals (after
Yang, Lukasik, Nagarajan and others 2023).
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from ntpcompanion.checks import NotNegative, Positive, Shape, Size, checked
from ntpcompanion.validation import as_array, as_integer, as_shaped


@dataclass(frozen=True, eq=False)
class ResidualMemory:
    """f(x) + r(x): a linear base f(x) = ⟨w, x⟩ and the mean residual r of the k stored examples
    that are nearest to x.

    Fields
    ------
    slope
        w (d,), all zeros for a pure memory.
    inputs, residuals
        of the stored examples, (n, d) and (n,).
    neighbours
        how many are averaged, k.
    """

    slope: Float[np.ndarray, " d"]
    inputs: Float[np.ndarray, "n d"]
    residuals: Float[np.ndarray, " n"]
    neighbours: int = 1

    def predict(self, inputs: Float[np.ndarray, "q d"]) -> Float[np.ndarray, " q"]:
        """The prediction for each row: O(n log n) for the tree, and O(log n) a row for small d."""
        # a list of neighbours, so that a single one has an axis, too
        _, rows = cKDTree(self.inputs).query(inputs, k=[*range(1, self.neighbours + 1)])
        return inputs @ self.slope + self.residuals[rows].mean(axis=1)


@checked
def fit_residual_memory(
    inputs: Annotated[ArrayLike, Shape("n d")],
    targets: Annotated[ArrayLike, Shape("n")],
    *,
    max_norm: NotNegative,
    neighbours: Size = 1,
) -> ResidualMemory:
    """Fit a linear function of bounded norm, and remember what it leaves.

    Parameters
    ----------
    inputs
        (n, d).
    targets
        y (n,).
    max_norm
        L, the largest norm of the slope w of the base; 0 for a pure memory.
    neighbours
        k, over which residuals are averaged.

    Returns
    -------
    ResidualMemory
        whose base minimizes the mean squared error among all slopes of norm at most L.

    Raises
    ------
    ValueError
        shapes that do not fit, numbers that are not finite, a negative norm, more neighbours than
        examples.

    Notes
    -----
    Cost O(n d²). The base is (C + λ)⁻¹ c for the least λ ≥ 0 that makes its norm at most L, found
    by bisection in the eigenbasis of C = XᵀX / n.

    Examples
    --------
    A base of half the norm that is needed; the memory repairs it where there are examples.

    >>> from ntpcompanion.generalization import fit_residual_memory
    >>> found = fit_residual_memory([[-1.0], [1.0]], [-1.0, 1.0], max_norm=0.5)
    >>> found.slope.tolist(), found.predict(found.inputs).tolist()
    ([0.5], [-1.0, 1.0])
    """
    x, y = as_shaped("inputs", inputs, (None, None)), as_array("targets", targets)
    k = as_integer("neighbours", neighbours, 1, len(x), "(the number of examples)")
    slope = _bounded_least_squares(x, y, max_norm)
    return ResidualMemory(slope, x, y - x @ slope, k)


def _bounded_least_squares(
    x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], bound: float
) -> Float[np.ndarray, " d"]:
    """The slope of least squared error among those of norm at most `bound`."""
    if not bound:
        return np.zeros(x.shape[1])
    values, basis = np.linalg.eigh(x.T @ x / len(x))
    values = np.maximum(values, 0)
    pull = basis.T @ (x.T @ y) / len(x)
    free = values > 1e-12 * values.max()
    unconstrained = basis[:, free] @ (pull[free] / values[free])
    if np.linalg.norm(unconstrained) <= bound:
        return unconstrained
    low, high = 0.0, float(np.linalg.norm(pull)) / bound  # |pull| / λ bounds the norm
    for _ in range(200):
        middle = (low + high) / 2
        if np.linalg.norm(pull / (values + middle)) > bound:
            low = middle
        else:
            high = middle
    return basis @ (pull / (values + high))


@checked
def draw_ball(
    rng: np.random.Generator, count: Size, dim: Size, radius: Positive
) -> Float[np.ndarray, "n d"]:
    """Points (count, dim), uniform in the ball of this radius.

    Raises
    ------
    ValueError
        a count or dimension below 1, a radius that is not positive.
    """
    directions = rng.standard_normal((count, dim))
    lengths = radius * rng.random((count, 1)) ** (1 / dim)
    return lengths * directions / np.linalg.norm(directions, axis=1, keepdims=True)


@checked
def excess_risk(
    memory: ResidualMemory,
    inputs: Annotated[ArrayLike, Shape("n {len(memory.slope)}")],
    slope: Annotated[ArrayLike, Shape("{len(memory.slope)}")],
) -> float:
    """The mean squared distance of the prediction from ⟨slope, x⟩, over given inputs.

    Parameters
    ----------
    memory
        what predicts.
    inputs
        (q, d), drawn apart from the stored examples.
    slope
        θ* (d,), of the true function without noise.

    Returns
    -------
    float
        in squared units of the targets; the noise of a new label is not counted.

    Raises
    ------
    ValueError
        shapes that do not fit.

    Examples
    --------
    >>> from ntpcompanion.generalization import excess_risk, fit_residual_memory
    >>> memory = fit_residual_memory([[-1.0], [1.0]], [-1.0, 1.0], max_norm=0.5)
    >>> excess_risk(memory, [[0.5]], [1.0])
    0.0625
    """
    x, theta = as_array("inputs", inputs), as_array("slope", slope)
    return float(((memory.predict(x) - x @ theta) ** 2).mean())
