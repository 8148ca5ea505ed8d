"""How much a learner's answer on an example depends on having seen it: Feldman's memorization
score, its estimate from random subsets, and the nearest neighbour rule, for which it is known
without sampling.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from ntpcompanion.checks import Range, Shape, Size, checked
from ntpcompanion.generalization.min_norm import as_flags
from ntpcompanion.validation import as_array, as_integer_array


@dataclass(frozen=True, eq=False)
class MemorizationScores:
    """Estimated scores of n examples.

    Fields
    ------
    inside
        (n,), fraction of the models trained with an example that are right on it.
    outside
        (n,), the same of models trained without it.
    inside_count, outside_count
        (n,), how many models these are.
    """

    inside: Float[np.ndarray, " n"]
    outside: Float[np.ndarray, " n"]
    inside_count: Int[np.ndarray, " n"]
    outside_count: Int[np.ndarray, " n"]

    @property
    def scores(self) -> Float[np.ndarray, " n"]:
        """Accuracy with the example minus accuracy without it, between -1 and 1."""
        return self.inside - self.outside

    @property
    def variance(self) -> Float[np.ndarray, " n"]:
        """An unbiased estimate of the sampling variance of each score, for N models with the
        example, of accuracy a, and M without it, of accuracy b: a (1 - a) / (N - 1) + b (1 - b) /
        (M - 1).
        """
        with_it = self.inside * (1 - self.inside) / (self.inside_count - 1)
        return with_it + self.outside * (1 - self.outside) / (self.outside_count - 1)


@checked
def random_subsets(
    rng: np.random.Generator,
    count: Size,
    n: Annotated[int, Range(2)],
    size: Annotated[int, Range(1, "n - 1", "so that some are left out")],
) -> Bool[np.ndarray, "count n"]:
    """Draw subsets of equal size, each uniformly and independently of the others.

    Parameters
    ----------
    rng
        of the draws.
    count
        number of subsets.
    n
        number of examples.
    size
        examples in each subset, 1 … n - 1.

    Returns
    -------
    array (count, n)
        whether a subset has an example.

    Raises
    ------
    ValueError
        no generator, or sizes out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.generalization import random_subsets
    >>> random_subsets(np.random.default_rng(0), 3, 10, 7).sum(axis=1).tolist()
    [7, 7, 7]
    """
    return rng.permuted(np.tile(np.arange(n) < size, (count, 1)), axis=1)


def memorization_scores(member: ArrayLike, correct: ArrayLike) -> MemorizationScores:
    """Estimate memorization scores from models trained on random subsets (Feldman, Zhang 2020).

    Parameters
    ----------
    member
        (models, n), whether a model was trained with an example.
    correct
        (models, n), whether it is right on it.

    Returns
    -------
    MemorizationScores
        accuracies with each example and without it. Cost O(models · n).

    Raises
    ------
    ValueError
        entries other than true and false, different shapes, an example with fewer than two models
        that have seen it, or two that have not.

    Examples
    --------
    Four models and two examples: the first is answered right only by models that have seen it.

    >>> import numpy as np
    >>> from ntpcompanion.generalization import memorization_scores
    >>> member = np.array([[1, 0], [1, 1], [0, 1], [0, 0]], bool)
    >>> correct = np.array([[1, 1], [1, 1], [0, 1], [0, 1]], bool)
    >>> memorization_scores(member, correct).scores.tolist()
    [1.0, 0.0]
    """
    seen = as_flags("member", member, (None, None))
    right = as_flags("correct", correct, seen.shape)
    inside, outside = seen.sum(axis=0), (~seen).sum(axis=0)
    rare = np.minimum(inside, outside) < 2
    if rare.any():
        column = int(rare.argmax())
        raise ValueError(
            f"`member` must have two models with each example and two without it: {inside[column]} "
            f"of {len(seen)} models have example {column}. Draw more subsets."
        )
    with_it, without = (right & seen).sum(axis=0), (right & ~seen).sum(axis=0)
    return MemorizationScores(with_it / inside, without / outside, inside, outside)


@checked
def nearest_neighbour_scores(
    features: Annotated[ArrayLike, Shape("n d")],
    labels: Annotated[ArrayLike, Shape("n", integers=True)],
    size: Annotated[int, Range(1, "n - 1", "so that one row is left out")],
) -> Float[np.ndarray, " n"]:
    """Memorization scores of the nearest neighbour rule, exactly, for random subsets of one size.

    A model that has seen an example is right on it. One that has not answers by the nearest of its
    `size` examples, which is the k-th neighbour with probability C(n-1-k, size-1) / C(n-1, size).

    Parameters
    ----------
    features
        (n, d), of which no two rows are equal.
    labels
        (n,), classes as integers.
    size
        examples that a model is trained on, 1 … n - 1; n - 1 gives the scores of leaving one out.

    Returns
    -------
    array (n,)
        between 0 and 1; where two neighbours are equally near, the one of smaller index counts as
        nearer. Cost O(n² (d + log n)).

    Raises
    ------
    ValueError
        labels that do not fit, a size out of range, or two equal rows.

    Examples
    --------
    Three points in a row, of which the last has another label.

    >>> from ntpcompanion.generalization import nearest_neighbour_scores
    >>> nearest_neighbour_scores([[0], [1], [3]], [0, 0, 1], size=1).tolist()
    [0.5, 0.5, 1.0]
    """
    points, classes = as_array("features", features), as_integer_array("labels", labels)
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    if distances.min() == 0:
        pair = np.unravel_index(distances.argmin(), distances.shape)
        raise ValueError(
            f"`features` has equal rows {int(pair[0])} and {int(pair[1])}: a model that has seen "
            "one of them may be wrong on it. Leave one out."
        )
    order = np.argsort(distances, axis=1, kind="stable")[:, :-1]
    return 1 - (classes[order] == classes[:, None]) @ _nearest_is(len(points) - 1, size)


def _nearest_is(others: int, size: int) -> Float[np.ndarray, " others"]:
    """Probability that the nearest of `size` random ones of `others` neighbours is the k-th."""
    k = np.arange(1, others)
    stays = np.maximum(others - k + 1 - size, 0) / (others - k + 1)  # the k-th is not among them
    none_before = np.concatenate([[1.0], np.cumprod(stays)])
    return none_before * np.minimum(size / (others - np.arange(others)), 1)
