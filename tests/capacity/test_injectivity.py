from collections import Counter
from math import comb, gcd

import numpy as np
import pytest

from ntpcompanion.capacity import (
    all_contexts,
    attend_last,
    count_collisions,
    sinusoidal_positions,
)


def pairs_with_equal(keys):
    return sum(comb(count, 2) for count in Counter(keys).values())


def counts(context, vocab_size=4):
    return tuple(np.bincount(context, minlength=vocab_size).tolist())


def proportions(context):
    found = counts(context)
    return tuple(count // gcd(*found) for count in found)


@pytest.fixture(scope="module")
def every():
    return all_contexts(4, 4)


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(0)
    tokens, table = rng.standard_normal((4, 8)), rng.standard_normal((4, 4, 8))
    return tokens, 0.3 * rng.standard_normal((8, 8)), table


def test_contexts_are_all_and_different(every):
    assert len(every) == 4 + 16 + 64 + 256
    assert len({tuple(one) for one in every}) == len(every)


def test_collisions_without_positions_are_those_of_proportions_and_last_token(every, drawn):
    tokens, scores, _ = drawn
    found = count_collisions(attend_last(every, np.repeat(tokens[None], 4, 0), scores))
    assert found.collisions == pairs_with_equal((one[-1], proportions(one)) for one in every)
    assert found.closest > 1e-6


def test_collisions_of_averages_are_the_permutations(every, drawn):
    tokens, scores, _ = drawn
    vectors = tokens + sinusoidal_positions(4, 8).numpy()[:, None]
    found = count_collisions(attend_last(every, vectors, 0 * scores))
    assert found.collisions == pairs_with_equal(map(counts, every))


def test_positions_and_tables_keep_all_apart(every, drawn):
    tokens, scores, table = drawn
    vectors = tokens + sinusoidal_positions(4, 8).numpy()[:, None]
    for found in (attend_last(every, vectors, scores), attend_last(every, table, 0 * scores)):
        distances = count_collisions(found)
        assert distances.collisions == 0
        assert distances.closest > 1e-6


def test_attention_is_that_of_the_definition(drawn):
    _, scores, table = drawn
    context = np.array([2, 0, 2])
    x = np.array([table[t, z] for t, z in enumerate(context)])
    e = np.exp([x[-1] @ scores @ one for one in x])
    wanted = sum(weight * one for weight, one in zip(e / e.sum(), x, strict=True))
    np.testing.assert_allclose(attend_last([context], table, scores)[0], wanted, atol=1e-13)


@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named(drawn):
    _, scores, table = drawn
    with pytest.raises(ValueError, match=r"`vectors` must have a table for each position"):
        attend_last([np.zeros(5, dtype=int)], table, scores)
    for none, words in (([], "hold at least 1"), ([np.zeros(0, dtype=int)], "be a vector")):
        with pytest.raises(ValueError, match=f"`contexts` must {words}"):
            attend_last(none, table, scores)
    for wrong, words in ((-1, "lie in 0 … 3.* from -1 to 0"), (9, "lie in 0 … 3.* to 9")):
        with pytest.raises(ValueError, match=f"`contexts` must {words}"):
            attend_last([np.array([0, wrong])], table, scores)
    with pytest.raises(ValueError, match=r"`scores` must be a matrix .* shape .8, 8."):
        attend_last([np.zeros(2, dtype=int)], table, scores[:2])
    with pytest.raises(ValueError, match=r"`vectors` must have at least two rows, got"):
        count_collisions(np.ones((1, 2)))
