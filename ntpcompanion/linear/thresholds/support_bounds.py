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

    Parameters
    ----------
    supports
        (m, V), the mask of each context's support.

    Returns
    -------
    SupportDistribution
        Each different support once.

    Raises
    ------
    ValueError
        No matrix of booleans, or an empty support.

    Notes
    -----
    Cost O(m V log m).
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
    """The distribution that remains if only the logits of the k most frequent tokens count.

    Parameters
    ----------
    distribution
        the supports.
    num_tokens
        k in 2 … V.

    Returns
    -------
    distribution, fraction
        The supports within these tokens, of those contexts that any of them can follow, and the
        fraction of such contexts. If the whole table is separable, so is this one, as long as one
        of its contexts has a token off its support. Its threshold times the fraction is a lower
        bound for the threshold of the whole.

    Raises
    ------
    ValueError
        k outside its range.
    """
    tokens = np.sort(np.argsort(-distribution.token_frequency, kind="stable")[:num_tokens])
    restricted = distribution.supports[:, tokens]
    met = restricted.any(axis=1)
    different, which = np.unique(restricted[met], axis=0, return_inverse=True)
    probability = np.bincount(which.ravel(), weights=distribution.probability[met])
    fraction = float(probability.sum())
    return SupportDistribution(different, probability / fraction), fraction


def two_token_bound(distribution: SupportDistribution) -> float:
    """The largest (f_u + f_v) / 2 over pairs of tokens, f the fraction of contexts that a token can
    follow: a lower bound on the threshold d/m.

    Parameters
    ----------
    distribution
        the supports, with their probabilities.

    Returns
    -------
    float
        The bound. At d up to m times this number at most half of all draws of Gaussian embeddings
        are separable: a theorem at every m. Pairs whose tokens always occur together need no
        separation and do not count; 0 if there are no others.

    Notes
    -----
    The difference of the rows of u and v is orthogonal to the contexts with both, and has a given
    sign on those with one; Wendel's formula says when such a vector exists. Cost O(k V²).

    Examples
    --------
    >>> from ntpcompanion.linear.thresholds.support_bounds import two_token_bound
    >>> from ntpcompanion.linear.tables.weighted_supports import weighted_supports
    >>> round(two_token_bound(weighted_supports([5.0, 3.0, 2.0], 1)), 6)
    0.4
    """
    both = (distribution.supports * distribution.probability[:, None]).T @ distribution.supports
    frequency = np.diag(both)
    sums = frequency[:, None] + frequency
    once = distribution.supports.astype(int)
    apart = once.T @ (1 - once)  # number of supports with the one token and without the other
    return float(np.where(apart + apart.T > 0, sums, 0.0).max() / 2)
