"""Checks on the arrays of a context table."""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse, sparray, spmatrix

from ntpcompanion.validation import as_matrix, as_shaped, check_probabilities, described


def as_distributions(
    name: str, value: ArrayLike | sparray | spmatrix, rows: int
) -> Float[np.ndarray, "rows vocab"] | csr_array:
    """A read-only copy of next-token distributions, one a row: sparse (canonical CSR without stored
    zeros) if it came sparse, else dense.

    Raises ValueError unless entries are finite and non-negative, rows sum to one within
    SUM_TOLERANCE, and some entry is zero.
    """
    distributions: Any = (
        _sparse_distributions(name, value, rows)
        if issparse(value)
        else _dense_distributions(name, value, rows)
    )
    entries, support = (
        (distributions.data, distributions.nnz)
        if issparse(distributions)
        else (distributions, np.count_nonzero(distributions))
    )
    check_probabilities(name, entries, distributions.sum(axis=1))
    if support == distributions.shape[0] * distributions.shape[1]:
        raise ValueError(
            f"`{name}`: every context can be followed by every token. At least one context needs a "
            "token outside its support (a zero)."
        )
    return distributions


def _dense_distributions(name: str, value: ArrayLike, rows: int) -> Float[np.ndarray, "rows vocab"]:
    return read_only_copy(as_matrix(name, value, (rows, None)))


def _sparse_distributions(name: str, value: sparray | spmatrix, rows: int) -> csr_array:
    if value.dtype.kind not in "fiub":
        raise ValueError(f"`{name}` must be an array of numbers, got {described(value)}.")
    if value.ndim != 2 or value.shape[0] != rows or not value.shape[1]:
        raise ValueError(
            f"`{name}` must be a matrix of shape ({rows}, any), got shape {value.shape}."
        )
    distributions = csr_array(value, dtype=np.float64, copy=True)
    distributions.sum_duplicates()
    distributions.eliminate_zeros()
    for part in (distributions.data, distributions.indices, distributions.indptr):
        part.flags.writeable = False
    return distributions


def as_weight(name: str, value: ArrayLike, rows: int) -> Float[np.ndarray, " rows"]:
    """A read-only copy of positive context frequencies that sum to one within SUM_TOLERANCE. Raises
    ValueError otherwise.
    """
    weight = read_only_copy(as_shaped(name, value, (rows,), "one frequency per context"))
    if weight.min() <= 0:
        row = int(weight.argmin())
        raise ValueError(
            f"`{name}` must be positive, got {weight[row]:.6g} for context {row}. Leave out "
            "contexts that never occur."
        )
    check_probabilities(name, weight, weight.sum())
    return weight


def read_only_copy(array: np.ndarray) -> np.ndarray:
    """A copy that nobody can write to: a later change of the caller's array does not reach it."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy
