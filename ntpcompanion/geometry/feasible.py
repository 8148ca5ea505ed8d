"""Nearest points of the two sets that the nuclear-norm SVM and its dual are about, row by row in
closed form.
"""

import numpy as np
from jaxtyping import Bool, Float


def nearest_feasible(
    logits: Float[np.ndarray, "m V"], support: Bool[np.ndarray, "m V"]
) -> Float[np.ndarray, "m V"]:
    """The nearest logits that are equal on each support and smaller by at least 1 off it.

    Row j becomes c on its support and min(l_v, c − 1) off it. The best c is the mean of the
    supported logits and of those l_v + 1 that exceed c: the largest of them, sorted. Cost O(m V log
    V).
    """
    raised = np.where(support, -np.inf, logits + 1)
    common = _mean_of_largest(raised, np.where(support, logits, 0.0).sum(axis=1), support)
    return np.where(support, common, np.minimum(logits, common - 1))


def nearest_dual(
    matrix: Float[np.ndarray, "m V"], support: Bool[np.ndarray, "m V"]
) -> Float[np.ndarray, "m V"]:
    """The nearest matrix with rows of sum zero and entries of at most zero off the supports.

    A number is subtracted from each row, and positive entries off the support become 0. Cost O(m V
    log V).
    """
    # mirrored: entries off the support that stay negative are the largest of the negated row
    negated = np.where(support, -np.inf, -matrix)
    shift = -_mean_of_largest(negated, np.where(support, -matrix, 0.0).sum(axis=1), support)
    return np.where(support, matrix - shift, np.minimum(matrix - shift, 0.0))


def _mean_of_largest(
    candidates: Float[np.ndarray, "m V"],
    inside: Float[np.ndarray, " m"],
    support: Bool[np.ndarray, "m V"],
) -> Float[np.ndarray, "m 1"]:
    """In each row the number c that is the mean of the supported entries (with sum `inside`) and of
    the candidates above c. Candidates on the support are −∞.
    """
    m, V = candidates.shape
    descending = -np.sort(-candidates, axis=1)
    finite = np.where(descending > -np.inf, descending, 0.0)
    sums = np.concatenate([np.zeros((m, 1)), np.cumsum(finite, axis=1)], axis=1)
    counts = support.sum(axis=1)[:, None] + np.arange(V + 1)
    means = (inside[:, None] + sums) / counts
    above = (descending > means[:, :-1]).sum(axis=1)
    return np.take_along_axis(means, above[:, None], axis=1)
