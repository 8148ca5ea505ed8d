"""Shared and group components of a linear model on frozen features, chosen by keys: a toy model of
shared and group prompts (after Deng, Thrampoulidis and Li 2024).
"""

from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.checks import Range, Shape, Size, checked, need
from ntpcompanion.validation import as_array

Joint = Annotated[ArrayLike, Shape("G K"), Range(0)]


@checked
def component_risk(
    joint: Joint, heads: Annotated[ArrayLike, Shape("{len(joint)} p")]
) -> tuple[Float[np.ndarray, "K p"], float]:
    """The best head for each key, and its excess risk: the variance of heads within keys.

    Features u have second moment I and do not depend on group and key; the target of group g is
    ⟨θ_g, u⟩ and noise. A single key is a shared model, a key for each group an oracle.

    Parameters
    ----------
    joint
        P(g, c) (G, K), fractions of the examples by group and key; each key is used.
    heads
        θ (G, p).

    Returns
    -------
    (K, p) array, float
        the mean head of each key, and Σ P(g, c) ‖θ_g − mean_c‖².

    Raises
    ------
    ValueError
        shapes that do not fit, negative fractions.

    Examples
    --------
    >>> from ntpcompanion.adaptation import component_risk
    >>> component_risk([[0.5], [0.5]], [[1.0], [-1.0]])[1]
    1.0
    """
    p, theta = as_array("joint", joint), as_array("heads", heads)
    means = (p.T @ theta) / p.sum(0)[:, None]
    squares = ((theta[:, None] - means) ** 2).sum(2)
    return means, float((p * squares).sum())


@checked
def adjusted_rand(joint: Joint) -> float:
    """The adjusted Rand index of two partitions of a population: 1 if equal, 0 if independent.

    Parameters
    ----------
    joint
        P(g, c) (G, K), fractions by both partitions, with sum 1.

    Returns
    -------
    float
        the limit of the index of a large sample.

    Raises
    ------
    ValueError
        negative fractions.

    Examples
    --------
    >>> from ntpcompanion.adaptation.federated_prompts import adjusted_rand
    >>> round(adjusted_rand([[0.4, 0.1], [0.1, 0.4]]), 3)  # (1 - 2 · 0.2)²
    0.36
    """
    p = as_array("joint", joint)
    first, second = (p.sum(1) ** 2).sum(), (p.sum(0) ** 2).sum()
    chance = first * second
    return float(((p**2).sum() - chance) / ((first + second) / 2 - chance))


@checked(need("cells", "cells.max() < count", "be below `count` = {count}"))
def fit_components(
    features: Annotated[ArrayLike, Shape("n p")],
    targets: Annotated[ArrayLike, Shape("n")],
    cells: Annotated[ArrayLike, Shape("n", integers=True), Range(0)],
    count: Size,
) -> Float[np.ndarray, "K p"]:
    """Least squares within each cell: a shared head plus what each cell adds to it.

    Parameters
    ----------
    features
        u (n, p).
    targets
        y (n,).
    cells
        (n,), the key of each example.
    count
        K, of keys.

    Returns
    -------
    (K, p) array
        the heads; that of a cell without examples is the shared one.

    Raises
    ------
    ValueError
        shapes that do not fit, a cell that is not below `count`.

    Notes
    -----
    Learning the shared head first and then the additions gives the same heads, and sums over
    clients of uuᵀ and y u are all that a server needs: O(p²) numbers for each key and client.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.adaptation import fit_components
    >>> fit_components([[1.0], [1.0]], [1.0, 3.0], np.array([0, 1]), 2).tolist()
    [[1.0], [3.0]]
    """
    u, y, c = as_array("features", features), as_array("targets", targets), np.asarray(cells)
    shared = np.linalg.lstsq(u, y, rcond=None)[0]
    left = y - u @ shared
    added = [np.linalg.lstsq(u[c == k], left[c == k], rcond=None)[0] for k in range(count)]
    return shared + np.array(added)
