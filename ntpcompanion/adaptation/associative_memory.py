"""Linear associative memories: a matrix that gives each key its value by the largest entry."""

from collections.abc import Sequence
from math import comb
from typing import Annotated

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from ntpcompanion.checks import Count, Range, Shape, Size, checked
from ntpcompanion.randomness import stream

Keys = Annotated[ArrayLike, Shape("n d")]
Values = Annotated[ArrayLike, Shape("n", integers=True), Range(0, "num_values - 1")]


@checked
def widest_memory(
    keys: Keys, values: Values, num_values: Annotated[int, Range(2)]
) -> tuple[Float[np.ndarray, "v d"], float]:
    """The matrix M of entries between −1 and 1 with the largest margin: for each key k and each
    other value v, (M k)_y − (M k)_v is at least the margin, where y is the value of k.

    Parameters
    ----------
    keys
        (n, d).
    values
        (n,), integers below `num_values`.
    num_values
        how many values there are.

    Returns
    -------
    tuple of array and float
        the memory (values, d), and its margin; 0 if no matrix recalls every value. One linear
        program: 4 ms for n = 16, d = 8 and 8 values.

    Examples
    --------
    >>> from ntpcompanion.adaptation import widest_memory
    >>> widest_memory([[1, 0], [0, 1]], [0, 1], 2)[1]
    2.0
    >>> widest_memory([[1, 0], [0, 1], [1, 1]], [0, 0, 1], 2)[1]  # the third is a sum
    0.0
    """
    k, y = np.asarray(keys, dtype=float), np.asarray(values)
    d = k.shape[1]
    rows, others = np.nonzero(np.arange(num_values) != y[:, None])
    lower = np.zeros((len(rows), num_values, d))
    pairs = np.arange(len(rows))
    lower[pairs, others] = k[rows]
    lower[pairs, y[rows]] = -k[rows]
    system = np.column_stack([lower.reshape(len(rows), -1), np.ones(len(rows))])
    cost = np.zeros(num_values * d + 1)
    cost[-1] = -1.0
    bounds = [(-1.0, 1.0)] * (num_values * d) + [(0.0, None)]
    best = linprog(cost, system, np.zeros(len(rows)), bounds=bounds, method="highs")
    margin = float(best.x[-1])
    return best.x[:-1].reshape(num_values, d), margin if margin > 1e-9 * np.abs(k).max() else 0.0


@checked
def stored_probability(num_keys: Size, dim: Size) -> float:
    """The probability that a matrix recalls a random assignment of two values to n keys in general
    position in d dimensions: 2^(1 − n) Σ_{k<d} C(n − 1, k) (Cover 1965). It is 1 for n ≤ d.

    Parameters
    ----------
    num_keys, dim
        n and d.

    Returns
    -------
    float
        the probability.

    Examples
    --------
    >>> from ntpcompanion.adaptation import stored_probability
    >>> stored_probability(20, dim=10), stored_probability(10, dim=10)
    (0.5, 1.0)
    """
    return sum(comb(num_keys - 1, k) for k in range(dim)) / 2 ** (num_keys - 1)


@checked
def stored_fractions(
    dim: Size,
    keys_by_dim: Sequence[float],
    num_values: Sequence[int],
    draws: Annotated[int, Range(2)],
    seed: Count,
) -> pd.DataFrame:
    """How often random values of random keys can all be recalled.

    Parameters
    ----------
    dim
        d, of Gaussian keys.
    keys_by_dim
        n / d.
    num_values
        how many values there are, each number by itself.
    draws
        of keys and values, for each.
    seed
        of the draws.

    Returns
    -------
    pd.DataFrame
        a row for each draw: columns `keys by dimension`, `values`, `draw`, `stored` (0 or 1).

    Examples
    --------
    >>> from ntpcompanion.adaptation import stored_fractions
    >>> float(stored_fractions(4, [1.0], [2, 3], draws=5, seed=0).stored.mean())  # n = d
    1.0
    """
    rows = []
    for ratio in keys_by_dim:
        for count in num_values:
            for draw in range(draws):
                rng = stream(seed, f"memory {ratio} {count} {draw}")
                n = round(ratio * dim)
                drawn = rng.standard_normal((n, dim)), rng.integers(count, size=n)
                stored = float(widest_memory(*drawn, count)[1] > 0)
                rows.append((ratio, count, draw, stored))
    return pd.DataFrame(rows, columns=["keys by dimension", "values", "draw", "stored"])
