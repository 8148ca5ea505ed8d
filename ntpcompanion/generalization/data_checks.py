"""A check of the room: matrices of true and false, such as which model has seen which example."""

import numpy as np
from jaxtyping import Bool
from numpy.typing import ArrayLike

from ntpcompanion.validation import check_shape, described


def as_flags(
    name: str, value: ArrayLike, shape: tuple[int | None, int | None]
) -> Bool[np.ndarray, "rows columns"]:
    """`value` as a matrix of true and false of a shape (None: any positive length). Raises
    ValueError for entries of another kind, zeros and ones too, and for another shape.
    """
    flags = np.asarray(value)
    if flags.dtype != bool:
        raise ValueError(f"`{name}` must hold true and false only, got {described(flags)}.")
    check_shape(name, flags.shape, shape)
    return flags
