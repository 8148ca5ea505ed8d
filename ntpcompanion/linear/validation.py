"""Checks on the arrays of a context table."""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse, sparray, spmatrix

from ntpcompanion.validation import as_matrix, as_shaped, check_probabilities, described


def as_laws(
    name: str, value: ArrayLike | sparray | spmatrix, rows: int
) -> Float[np.ndarray, "rows vocab"] | csr_array:
    """A read-only copy of next-token laws, one a row: sparse (canonical CSR without stored zeros)
    if it came sparse, else dense.

    Raises ValueError unless entries are finite and non-negative, rows sum to one within
    SUM_TOLERANCE, and some entry is zero.
    """
    laws = _sparse_laws(name, value, rows) if issparse(value) else _dense_laws(name, value, rows)
    entries, support = (laws.data, laws.nnz) if issparse(laws) else (laws, np.count_nonzero(laws))
    check_probabilities(name, entries, laws.sum(axis=1))
    if support == laws.shape[0] * laws.shape[1]:
        raise ValueError(
            f"`{name}`: every context can be followed by every token. At least one context needs a "
            "token outside its support (a zero)."
        )
    return laws


def _dense_laws(name: str, value: ArrayLike, rows: int) -> Float[np.ndarray, "rows vocab"]:
    return read_only_copy(as_matrix(name, value, (rows, None)))


def _sparse_laws(name: str, value: sparray | spmatrix, rows: int) -> csr_array:
    if value.dtype.kind not in "fiub":
        raise ValueError(f"`{name}` must be an array of numbers, got {described(value)}.")
    if value.ndim != 2 or value.shape[0] != rows or not value.shape[1]:
        raise ValueError(
            f"`{name}` must be a matrix of shape ({rows}, any), got shape {value.shape}."
        )
    laws = csr_array(value, dtype=np.float64, copy=True)
    laws.sum_duplicates()
    laws.eliminate_zeros()
    for part in (laws.data, laws.indices, laws.indptr):
        part.flags.writeable = False
    return laws


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
