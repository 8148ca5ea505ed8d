"""Checks on the arrays of a context table: each names the argument, shows what came and says what
to do.
"""

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse, sparray, spmatrix

# Rows that were divided by their sum in float64 miss 1 by about 1e-16 times their length; single
# precision (1e-7) is refused.
SUM_TOLERANCE = 1e-8


def as_matrix(
    name: str, value: ArrayLike, shape: tuple[int | None, int | None]
) -> Float[np.ndarray, "rows columns"]:
    """`value` as a finite float64 matrix of the given shape (None: any positive number), read-only.
    Raises ValueError otherwise.
    """
    matrix = np.asarray(value, dtype=np.float64).view()
    fits = (
        matrix.ndim == 2
        and min(matrix.shape) > 0
        and all(want in (None, have) for want, have in zip(shape, matrix.shape, strict=True))
    )
    if not fits:
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise ValueError(
            f"`{name}` must be a matrix of shape ({wanted}), got shape {matrix.shape}."
        )
    _refuse_non_finite(name, matrix)
    matrix.flags.writeable = False
    return matrix


def as_laws(
    name: str, value: ArrayLike | sparray | spmatrix, rows: int
) -> Float[np.ndarray, "rows vocab"] | csr_array:
    """`value` as next-token laws, one a row: sparse (a canonical CSR copy without stored zeros) if
    it came sparse, else dense.

    Raises ValueError unless entries are finite and non-negative, rows sum to one within
    SUM_TOLERANCE, and some entry is zero.
    """
    if issparse(value):
        laws = csr_array(value, dtype=np.float64, copy=True)
        if laws.shape[0] != rows:
            raise ValueError(
                f"`{name}` must be a matrix of shape ({rows}, any), got shape {laws.shape}."
            )
        laws.sum_duplicates()
        laws.eliminate_zeros()
        entries, support = laws.data, laws.nnz
        _refuse_non_finite(name, entries)
    else:
        laws = entries = as_matrix(name, value, (rows, None))
        support = np.count_nonzero(laws)
    if entries.size and entries.min() < 0:
        raise ValueError(
            f"`{name}` holds the negative entry {entries.min():.6g}. Rows must be probabilities."
        )
    _refuse_unnormalized(name, laws.sum(axis=1))
    if support == laws.shape[0] * laws.shape[1]:
        raise ValueError(
            f"`{name}`: every context can be followed by every token. At least one context needs a "
            "token outside its support (a zero)."
        )
    return laws


def as_weight(name: str, value: ArrayLike, rows: int) -> Float[np.ndarray, " rows"]:
    """`value` as positive context frequencies that sum to one within SUM_TOLERANCE, read-only.
    Raises ValueError otherwise.
    """
    weight = np.asarray(value, dtype=np.float64).view()
    if weight.shape != (rows,):
        raise ValueError(
            f"`{name}` must be a vector of length {rows}, one frequency per context, got shape "
            f"{weight.shape}."
        )
    _refuse_non_finite(name, weight)
    if weight.min() <= 0:
        row = int(weight.argmin())
        raise ValueError(
            f"`{name}` must be positive, got {weight[row]:.6g} for context {row}. Leave out "
            "contexts that never occur."
        )
    if abs(weight.sum() - 1) > SUM_TOLERANCE:
        raise ValueError(
            f"`{name}` sums to {weight.sum():.12g}, not to 1 within {SUM_TOLERANCE:g}. Divide it "
            "by its sum."
        )
    weight.flags.writeable = False
    return weight


def _refuse_non_finite(name: str, entries: np.ndarray) -> None:
    finite = np.isfinite(entries)
    if not finite.all():
        raise ValueError(
            f"`{name}` holds {entries[~finite][0]} ({np.count_nonzero(~finite)} entries are not "
            "finite). Remove or replace them."
        )


def _refuse_unnormalized(name: str, sums: np.ndarray) -> None:
    row = int(np.abs(sums - 1).argmax())
    if abs(sums[row] - 1) > SUM_TOLERANCE:
        raise ValueError(
            f"`{name}` row {row} sums to {sums[row]:.12g}, not to 1 within {SUM_TOLERANCE:g}. "
            "Divide each row by its sum in float64."
        )
