"""The mean of independent draws."""

import numpy as np


def spreads_of_means(rng: np.random.Generator, n: int, groups: int, means: int) -> np.ndarray:
    """How far the mean of `n` uniform draws spreads, as independent estimates.

    Parameters
    ----------
    rng
        the source of the draws.
    n
        how many draws each mean is of.
    groups
        how many estimates.
    means
        how many means each estimate rests on, at least 2.

    Returns
    -------
    numpy.ndarray
        the standard deviation of `means` means in each group, in units of that of one draw.

    Raises
    ------
    ValueError
        fewer than two means, from which no standard deviation can be had.
    """
    if means < 2:
        raise ValueError(f"`means` must be at least 2, got {means}.")
    drawn = rng.random((groups, means, n)).mean(axis=2)
    return drawn.std(axis=1, ddof=1) * np.sqrt(12)
