from itertools import combinations

import numpy as np
import pytest
from scipy.special import comb

from ntpcompanion.linear.tables.weighted_supports import (
    SupportDistribution,
    table_of_supports,
    weighted_supports,
)
from ntpcompanion.linear.thresholds.support_bounds import (
    distribution_of_supports,
    most_frequent_tokens,
    two_token_bound,
)
from tests.oracles import largest_margin

TIED = SupportDistribution(
    np.array([[1, 0], [0, 1], [1, 1]], dtype=bool), np.array([0.4, 0.4, 0.2])
)


def test_equal_supports_are_counted():
    supports = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1], [1, 0, 1]], dtype=bool)
    distribution = distribution_of_supports(supports)
    assert distribution.supports.tolist() == [[False, True, False], [True, False, True]]
    assert distribution.probability.tolist() == [0.25, 0.75]
    assert distribution.token_frequency.tolist() == [0.75, 0.25, 0.75]


def test_the_bound_is_the_largest_over_pairs():
    distribution = weighted_supports([5.0, 3.0, 2.0, 1.0], 2)
    expected = max(
        sum(
            p * (0.5 if support[u] != support[v] else support[u])
            for support, p in zip(distribution.supports, distribution.probability, strict=True)
        )
        for u, v in combinations(range(4), 2)
    )
    assert two_token_bound(distribution) == pytest.approx(expected, abs=1e-14)
    assert two_token_bound(weighted_supports([1.0, 1.0], 1)) == 0.5
    assert two_token_bound(TIED) == pytest.approx(0.6, abs=1e-15)


def test_tokens_that_never_part_need_no_separation():
    """0 and 1 always occur together, so the pairs with 2 decide."""
    distribution = SupportDistribution(
        np.array([[1, 1, 0], [0, 0, 1]], dtype=bool), np.array([0.9, 0.1])
    )
    assert two_token_bound(distribution) == pytest.approx(0.5)


def test_half_of_two_token_tables_are_separable_at_the_bound(rng):
    """Wendel's formula in the d − l dimensions that l ties leave: k margins, chance ½ at k/2."""
    m, n, ties = 5, 150, 1
    chance = np.cumsum([comb(m - ties - 1, i) for i in range(m - ties)]) / 2 ** (m - ties - 1)
    assert two_token_bound(TIED) * m == pytest.approx(3.0)
    assert chance[3 - ties - 1] == 0.5
    tables = [table_of_supports(TIED, m, rng) for _ in range(n)]
    for d in (2, 3, 4):
        separable = [
            largest_margin(t.embeddings[:, :d], t.support.toarray()) > 1e-7 for t in tables
        ]
        expected = chance[d - ties - 1]
        error = np.sqrt(expected * (1 - expected) / n)
        assert np.mean(separable) == pytest.approx(expected, abs=3.5 * error)


def test_the_most_frequent_tokens_keep_their_contexts():
    supports = np.array([[1, 0, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1]], dtype=bool)
    distribution = SupportDistribution(supports, np.array([0.4, 0.2, 0.1, 0.3]))
    few, fraction = most_frequent_tokens(distribution, 2)
    assert fraction == pytest.approx(0.9)
    assert few.supports.tolist() == [[False, True], [True, False], [True, True]]
    assert few.probability == pytest.approx(np.array([3, 4, 2]) / 9)
    whole, all_of_it = most_frequent_tokens(distribution, 3)
    assert all_of_it == pytest.approx(1)
    assert whole.token_frequency == pytest.approx(distribution.token_frequency)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: distribution_of_supports(np.eye(2)), "`supports` must be a matrix of booleans"),
        (lambda: distribution_of_supports(np.array([[True], [False]])), "a true entry in each row"),
        (lambda: most_frequent_tokens(TIED, 1), r"`num_tokens` must lie in 2 … 2 .*got 1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
