"""Singular values of a rectangular matrix by the eigenvalues of its smaller Gram matrix: norms, and
the proximal map of the nuclear norm.
"""

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh


def nuclear_norm(matrix: Float[np.ndarray, "m V"]) -> float:
    """The sum of the singular values. Cost O(m V min(m, V))."""
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


def spectral_norm(matrix: Float[np.ndarray, "m V"]) -> float:
    """The largest singular value. Cost O(m V min(m, V))."""
    gram = matrix @ matrix.T if len(matrix) < matrix.shape[1] else matrix.T @ matrix
    last = [len(gram) - 1, len(gram) - 1]
    largest = eigh(gram, eigvals_only=True, subset_by_index=last, check_finite=False)
    return float(np.sqrt(max(largest[0], 0.0)))


def shrink_singular_values(
    matrix: Float[np.ndarray, "m V"], threshold: float
) -> Float[np.ndarray, "m V"]:
    """The matrix of least ½‖X − `matrix`‖_F² + `threshold` ‖X‖_*: singular values are lowered by
    `threshold`, those below it become 0.

    The eigenvectors of the smaller Gram matrix serve as singular vectors. They lose digits at
    singular values below 1e-8 of the largest, which the threshold removes. Cost O(m V min(m, V)).
    """
    if len(matrix) < matrix.shape[1]:
        return shrink_singular_values(matrix.T, threshold).T
    squares, vectors = eigh(matrix.T @ matrix, driver="evd", check_finite=False)
    retained = squares > threshold**2
    shrinkage = 1 - threshold / np.sqrt(squares[retained])
    return (matrix @ vectors[:, retained] * shrinkage) @ vectors[:, retained].T
