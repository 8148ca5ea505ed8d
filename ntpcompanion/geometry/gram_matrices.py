"""Gram matrices of word vectors and context embeddings, and how similar two of them are."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from ntpcompanion.checks import Is, Shape, checked
from ntpcompanion.validation import as_array


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


Matrix = Annotated[ArrayLike, Shape("n m")]
Gram = Annotated[
    ArrayLike,
    Shape("n n"),
    Is(
        lambda gram: np.diagonal(np.asarray(gram)).min() >= 0,
        "have squared lengths on its diagonal",
    ),
]
Varied = Annotated[
    Matrix,
    Is(
        lambda matrix: np.asarray(matrix).max() > np.asarray(matrix).min(),
        "not have the same entry everywhere: no correlation is defined",
    ),
]


@checked
def gram_matrices(logits: Matrix) -> GramMatrices:
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
        logits that are not finite matrix.

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
    left, values, right = np.linalg.svd(as_array("logits", logits), full_matrices=False)
    return GramMatrices((right.T * values) @ right, (left * values) @ left.T)


def plain_grams(matrix: Float[np.ndarray, "m V"]) -> GramMatrices:
    """Mᵀ M for words and M Mᵀ for contexts: `gram_matrices` without the matrix square root."""
    return GramMatrices(matrix.T @ matrix, matrix @ matrix.T)


@checked
def cosines(gram: Gram) -> Float[np.ndarray, "n n"]:
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
    matrix = as_array("gram", gram)
    squares = matrix.diagonal()
    inverse = np.where(squares > 0, 1 / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0)
    return matrix * inverse[:, None] * inverse


@checked
def similarity(first: Varied, second: Varied) -> float:
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
    a, b = as_array("first", first), as_array("second", second)
    a, b = a - a.mean(), b - b.mean()
    return float((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b))


@checked
def pair_similarity(
    first: Annotated[Gram, Is(lambda gram: len(gram) > 2, "be of 3 vectors or more")], second: Gram
) -> float:
    """The correlation of the cosines of all pairs of different vectors, from two Gram matrices of n
    vectors.

    `similarity` of two matrices of cosines counts their diagonals, which are 1 whatever the vectors
    are: unrelated vectors then look similar. This leaves them out.

    Parameters
    ----------
    first
        (n, n), inner products.
    second
        (n, n), those of other vectors.

    Returns
    -------
    float
        from −1 to 1.

    Raises
    ------
    ValueError
        as `cosines` and `similarity`; fewer than 3 vectors.

    Examples
    --------
    Vectors with nothing in common but that they are many and nearly orthogonal:

    >>> import numpy as np
    >>> from ntpcompanion.geometry import cosines, pair_similarity, similarity
    >>> rng = np.random.default_rng(0)
    >>> grams = [x @ x.T for x in rng.standard_normal((2, 30, 60))]
    >>> round(similarity(*map(cosines, grams)), 2), round(pair_similarity(*grams), 2)
    (0.66, -0.01)
    """
    a, b = cosines(first), cosines(second)
    pairs = np.triu_indices(len(a), 1)
    return similarity(a[pairs][None], b[pairs][None])
