"""What a few tokens alone say about the threshold: a table is separable only if it is on them."""

from typing import Annotated

import numpy as np
from jaxtyping import Bool

from ntpcompanion.checks import Is, Range, checked
from ntpcompanion.linear.tables.weighted_supports import SupportDistribution


@checked
def distribution_of_supports(
    supports: Annotated[
        Bool[np.ndarray, "m V"],
        Is(lambda supports: np.any(supports, axis=1).all(), "have a true entry in each row"),
    ],
) -> SupportDistribution:
    """The different supports among those of m contexts, and the fraction of contexts with each.
    Raises ValueError for no matrix of booleans, or an empty support.
    """
    mask = np.asarray(supports)
    different, counts = np.unique(mask, axis=0, return_counts=True)
    return SupportDistribution(different, counts / len(mask))


@checked
def most_frequent_tokens(
    distribution: SupportDistribution,
    num_tokens: Annotated[
        int, Range(2, "distribution.supports.shape[1]", "(the number of tokens)")
    ],
) -> tuple[SupportDistribution, float]:
    """The distribution that remains if only the logits of the k most frequent tokens count, and the
    fraction of contexts that any of them can follow: its threshold times the fraction is a lower
    bound for that of the whole. Raises ValueError for k outside of 2 … V.
    """
    tokens = np.sort(np.argsort(-distribution.token_frequency, kind="stable")[:num_tokens])
    restricted = distribution.supports[:, tokens]
    met = restricted.any(axis=1)
    different, which = np.unique(restricted[met], axis=0, return_inverse=True)
    probability = np.bincount(which.ravel(), weights=distribution.probability[met])
    fraction = float(probability.sum())
    return SupportDistribution(different, probability / fraction), fraction


def two_token_bound(distribution: SupportDistribution) -> float:
    """The largest (f_u + f_v) / 2 over pairs of tokens that do not always occur together, f the
    fraction of contexts that a token can follow. At d up to m times this, at most half of all draws
    of Gaussian embeddings are separable, at every m (Wendel's formula). 0 without pairs. Cost O(k
    V²).
    """
    both = (distribution.supports * distribution.probability[:, None]).T @ distribution.supports
    frequency = np.diag(both)
    sums = frequency[:, None] + frequency
    once = distribution.supports.astype(int)
    apart = once.T @ (1 - once)  # number of supports with the one token and without the other
    return float(np.where(apart + apart.T > 0, sums, 0.0).max() / 2)
