"""Supports that prefer some tokens: every set of S tokens, with odds that the tokens decide."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Annotated

import numpy as np
from jaxtyping import Bool, Float

from ntpcompanion.checks import Between, Is, Range, Shape, Size, checked
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.validation import as_array

# All supports are listed: this many at most.
MAX_SUPPORTS = 100_000


@dataclass(frozen=True, eq=False)
class SupportDistribution:
    """A distribution over supports.

    Fields
    ------
    supports
        (k, V), the mask of each support.
    probability
        (k,), positive, with sum one.
    """

    supports: Bool[np.ndarray, "k V"]
    probability: Float[np.ndarray, " k"]

    @property
    def token_frequency(self) -> Float[np.ndarray, " V"]:
        """(V,), the fraction of contexts that each token can follow."""
        return self.probability @ self.supports


@checked
def weighted_supports(
    token_weights: Annotated[
        Sequence[float] | Float[np.ndarray, " V"],
        Shape("V"),
        Between(0, np.inf),
        Is(lambda weights: len(weights) > 1, "hold a number for each of at least 2 tokens"),
    ],
    support_size: Annotated[int, Range(1, "V - 1", "(the number of tokens − 1)")],
) -> SupportDistribution:
    """Every support of S tokens, with a probability proportional to the product of its tokens'
    weights.

    Parameters
    ----------
    token_weights
        (V,), positive; equal weights make all supports equally likely. Only ratios count.
    support_size
        S in 1 … V − 1.

    Returns
    -------
    SupportDistribution
        The supports in the order of `itertools.combinations`.

    Raises
    ------
    ValueError
        Weights that are not a row of at least two positive numbers, a size outside the range, or
        more than 100,000 supports.

    Examples
    --------
    >>> from ntpcompanion.linear.tables.weighted_supports import weighted_supports
    >>> distribution = weighted_supports([2.0, 1.0, 1.0], 1)
    >>> distribution.probability.tolist(), distribution.token_frequency.tolist()
    ([0.5, 0.25, 0.25], [0.5, 0.25, 0.25])
    """
    weights = as_array("token_weights", token_weights).astype(float)
    V, S = weights.size, support_size
    if comb(V, S) > MAX_SUPPORTS:
        raise ValueError(
            f"`support_size` = {S} of {V} tokens makes {comb(V, S):,} supports, more than "
            f"{MAX_SUPPORTS:,}: take fewer tokens."
        )
    members = np.array(list(combinations(range(V), S)))
    supports = np.zeros((len(members), V), dtype=bool)
    np.put_along_axis(supports, members, True, axis=1)
    odds = np.prod(weights[members] / weights.max(), axis=1)
    return SupportDistribution(supports, odds / odds.sum())


@checked
def table_of_supports(
    distribution: SupportDistribution, num_contexts: Size, rng: np.random.Generator
) -> ContextTable:
    """One table of m contexts with m N(0, 1) coordinates whose supports are dealt, not drawn: each
    occurs m times its probability, up to rounding.

    Context j takes the support in which the running sum of the probabilities passes (j + ½)/m.
    Raises ValueError unless `num_contexts` is at least 1 and `rng` is a generator. Cost O(m (m +
    V)).
    """
    m = num_contexts
    quantiles = (np.arange(m) + 0.5) / m
    last = len(distribution.probability) - 1
    dealt = np.minimum(np.searchsorted(np.cumsum(distribution.probability), quantiles), last)
    support = distribution.supports[dealt]
    distributions = support / support.sum(axis=1, keepdims=True)
    return ContextTable(rng.standard_normal((m, m)), distributions, np.full(m, 1 / m))
