"""What the supports alone predict of the angles of word vectors and context embeddings."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool
from numpy.typing import ArrayLike

from ntpcompanion.geometry.gram_matrices import GramMatrices, gram_matrices, plain_grams
from ntpcompanion.geometry.nuclear_svm import NuclearSVMSolution, solve_nuclear_svm
from ntpcompanion.geometry.supports import as_support, centred_support


@dataclass(frozen=True, eq=False)
class PredictedGrams:
    """Four predictions of the Gram matrices, from the theorem to the roughest proxy.

    Fields
    ------
    solution
        of the solution of the nuclear-norm SVM, (L Lᵀ)^½: what corollary 1 of the paper says.
    root
        of the centred support matrix in its place, (S̃ S̃ᵀ)^½.
    plain
        S̃ S̃ᵀ, the paper's proxy, without the matrix square root.
    printed
        S Sᵀ, not centred, as the paper's similarity measure is printed.
    answer
        the solution L itself, with its certificate.
    shorter
        the share by which its nuclear norm is below that of S̃.
    """

    solution: GramMatrices
    root: GramMatrices
    plain: GramMatrices
    printed: GramMatrices
    answer: NuclearSVMSolution
    shorter: float


def predicted_grams(support: ArrayLike, *, tol: float = 1e-6) -> PredictedGrams:
    """Predict the Gram matrices of words and contexts from the supports.

    Parameters
    ----------
    support
        (m, V) of zeros and ones or truth values; each row has both.
    tol
        relative duality gap of the nuclear-norm SVM.

    Returns
    -------
    PredictedGrams
        four pairs of Gram matrices, (V, V) of words and (m, m) of contexts.

    Raises
    ------
    ValueError
        as `solve_nuclear_svm`.

    Notes
    -----
    Cost that of `solve_nuclear_svm`, and O(m² V) for the Gram matrices.

    Examples
    --------
    With all supports of one size the first three agree up to scale (Zhao et al. 2024, proposition
    2):

    >>> from ntpcompanion.geometry import all_supports, cosines, predicted_grams
    >>> found = predicted_grams(all_supports(4, 2))
    >>> for each in (found.solution, found.root, found.plain, found.printed):
    ...     print(round(cosines(each.words)[0, 1], 4) + 0.0)
    -0.3333
    -0.3333
    -0.3333
    0.3333
    """
    inside = as_support("support", support)
    centred, ones = centred_support(inside), inside.astype(float)
    answer = solve_nuclear_svm(inside, tol=tol)
    norm = float(np.linalg.svd(centred, compute_uv=False).sum())
    return PredictedGrams(
        solution=gram_matrices(answer.logits),
        root=gram_matrices(centred),
        plain=plain_grams(centred),
        printed=plain_grams(ones),
        answer=answer,
        shorter=1 - answer.norm / norm,
    )


def equal_supports(support: ArrayLike) -> Bool[np.ndarray, "m m"]:
    """Which pairs of different contexts have the same support.

    Parameters
    ----------
    support
        (m, V) of zeros and ones or truth values; each row has both.

    Returns
    -------
    (m, m) array of truth values
        symmetric, false on the diagonal.

    Raises
    ------
    ValueError
        other entries, or a row with an empty or a full support.

    Examples
    --------
    >>> from ntpcompanion.geometry import equal_supports
    >>> equal_supports([[1, 0, 0], [0, 1, 0], [1, 0, 0]]).astype(int).tolist()
    [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    """
    inside = as_support("support", support)
    _, kind = np.unique(inside, axis=0, return_inverse=True)
    kind = kind.ravel()
    return (kind[:, None] == kind) & ~np.eye(len(kind), dtype=bool)
