"""Random streams that depend on a seed and a name only."""

import operator
from typing import SupportsIndex

import numpy as np


def stream(seed: SupportsIndex, name: str) -> np.random.Generator:
    """A generator for one purpose of one run: it depends on (seed, name) only, so that adding a
    stream never moves another.

    Parameters
    ----------
    seed
        non-negative integer, the `seed` parameter of a notebook.
    name
        what the draws are for, such as "embeddings".

    Raises
    ------
    ValueError
        a seed that is not a non-negative integer, an empty name.
    """
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if number < 0 or isinstance(seed, bool):
        raise ValueError(f"`seed` must be a non-negative integer, got {seed!r}.")
    if not name:
        raise ValueError(f"`name` must say what the draws are for, got {name!r}.")
    return np.random.default_rng([number, *name.encode()])
