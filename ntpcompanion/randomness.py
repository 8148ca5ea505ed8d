"""Random streams that depend on a seed and a name only."""

import operator
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

if TYPE_CHECKING:
    import torch


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


def torch_stream(
    seed: SupportsIndex, name: str, device: "torch.device | str" = "cpu"
) -> "torch.Generator":
    """The same for draws of torch: a generator on `device` that depends on (seed, name) only.

    Parameters
    ----------
    seed, name
        as for `stream`.
    device
        where the draws are made; those of a CPU and of a GPU differ.

    Raises
    ------
    ValueError
        as `stream`.
    """
    import torch

    return torch.Generator(device).manual_seed(int(stream(seed, name).integers(2**32)))
