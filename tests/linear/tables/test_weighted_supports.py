from itertools import combinations
from math import prod

import numpy as np
import pytest

from ntpcompanion.linear.tables.weighted_supports import table_of_supports, weighted_supports


@pytest.mark.parametrize("S", [1, 2, 3])
def test_every_set_has_odds_of_the_product_of_its_weights(S):
    weights = [5.0, 3.0, 2.0, 1.0]
    distribution = weighted_supports(weights, S)
    odds = {set_: prod(weights[v] for v in set_) for set_ in combinations(range(4), S)}
    found = {
        tuple(np.flatnonzero(support).tolist()): p
        for support, p in zip(distribution.supports, distribution.probability, strict=True)
    }
    assert found == pytest.approx({s: odd / sum(odds.values()) for s, odd in odds.items()})
    frequency = [sum(p for s, p in found.items() if v in s) for v in range(4)]
    assert distribution.token_frequency == pytest.approx(frequency)


def test_contexts_are_dealt_by_probability(rng):
    distribution = weighted_supports([3.0, 2.0, 1.0], 1)
    table = table_of_supports(distribution, 12, rng)
    assert table.support.toarray().sum(axis=0).tolist() == [6, 4, 2]
    assert (table.num_contexts, table.dim) == (12, 12)
    counts = table_of_supports(distribution, 7, rng).support.toarray().sum(axis=0)
    assert counts.sum() == 7
    assert (np.abs(counts - 7 * distribution.probability) <= 1).all()


def test_embeddings_are_normal_and_differ_between_draws(rng):
    distribution = weighted_supports([1.0, 1.0], 1)
    one, two = (table_of_supports(distribution, 60, rng).embeddings for _ in range(2))
    assert one.std() == pytest.approx(1, abs=4 / np.sqrt(2 * one.size))
    assert not np.array_equal(one, two)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rng: weighted_supports([1.0], 1), r"`token_weights` must hold .*got \[1.0\]"),
        (lambda rng: weighted_supports([1.0, 0.0], 1), r"`token_weights` must be positive"),
        (lambda rng: weighted_supports([1.0, 1.0], 2), r"`support_size` must lie in 1 … 1 .*got 2"),
        (lambda rng: weighted_supports([1.0] * 40, 20), r"makes 137,846,528,820 supports"),
        (
            lambda rng: table_of_supports(weighted_supports([1.0, 1.0], 1), 0, rng),
            "`num_contexts` must be at least 1, got 0",
        ),
    ],
)
def test_bad_input_is_named(rng, call, message):
    with pytest.raises(ValueError, match=message):
        call(rng)
