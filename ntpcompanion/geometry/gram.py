"""Gram matrices of word vectors and context embeddings, and how similar two of them are."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.validation import as_matrix


@dataclass(frozen=True, eq=False)
class GramMatrices:
    """Inner products of balanced factors of logits.

    Fields
    ------
    words
        (V, V): W Wᵀ = (LᵀL)^½.
    contexts
        (m, m): H Hᵀ = (L Lᵀ)^½.
    """

    words: Float[np.ndarray, "V V"]
    contexts: Float[np.ndarray, "m m"]


def gram_matrices(logits: ArrayLike) -> GramMatrices:
    """The Gram matrices of the balanced factors W = V√Σ R and H = U√Σ R of logits L = U Σ Vᵀ, (m,
    V), the same for every rotation R.

    Parameters
    ----------
    logits
        (m, V), finite.

    Returns
    -------
    GramMatrices
        of words (V, V) and of contexts (m, m).

    Raises
    ------
    ValueError
        logits that are no finite matrix.

    Notes
    -----
    Cost O(m V min(m, V) + m² V).

    Examples
    --------
    >>> from ntpcompanion.geometry import gram_matrices
    >>> found = gram_matrices([[2.0, 0.0], [0.0, -1.0]])
    >>> found.words.round(6).tolist()
    [[2.0, 0.0], [0.0, 1.0]]
    """
    left, values, right = np.linalg.svd(
        as_matrix("logits", logits, (None, None)), full_matrices=False
    )
    return GramMatrices((right.T * values) @ right, (left * values) @ left.T)


def cosines(gram: ArrayLike) -> Float[np.ndarray, "n n"]:
    """Cosines of n vectors from their inner products; 0 for a vector of length zero, and 1 on the
    diagonal of others.

    Parameters
    ----------
    gram
        (n, n), inner products.

    Returns
    -------
    (n, n) array
        cosines.

    Raises
    ------
    ValueError
        a matrix that is not finite and square, or has a negative entry on the diagonal.

    Examples
    --------
    >>> from ntpcompanion.geometry import cosines
    >>> cosines([[4.0, -1.0], [-1.0, 1.0]]).tolist()
    [[1.0, -0.5], [-0.5, 1.0]]
    """
    matrix = as_matrix("gram", gram, (None, None))
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"`gram` must be square, got shape {matrix.shape}.")
    squares = matrix.diagonal()
    if (squares < 0).any():
        raise ValueError(
            f"`gram` must have squared lengths on its diagonal, got {squares.min():g}."
        )
    inverse = np.where(squares > 0, 1 / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0)
    return matrix * inverse[:, None] * inverse


def similarity(first: ArrayLike, second: ArrayLike) -> float:
    """The correlation of the entries of two matrices of one shape: 1 if one is a positive multiple
    of the other plus a constant (the structure term of SSIM, Zhao et al. 2024).

    Parameters
    ----------
    first
        a matrix.
    second
        another one of the same shape.

    Returns
    -------
    float
        from −1 to 1.

    Raises
    ------
    ValueError
        other shapes, or a matrix whose entries are all equal.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.geometry import similarity
    >>> one = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> round(similarity(one, 3 * one - 1), 12), round(similarity(one, -one), 12)
    (1.0, -1.0)
    """
    a = as_matrix("first", first, (None, None))
    b = as_matrix("second", second, a.shape)
    for name, matrix in (("first", a), ("second", b)):
        if np.ptp(matrix) == 0:
            raise ValueError(
                f"`{name}` has the same entry everywhere ({matrix.flat[0]:g}), so that no "
                "correlation is defined."
            )
    a, b = a - a.mean(), b - b.mean()
    return float((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b))
