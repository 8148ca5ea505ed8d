"""Planted tables are separable, and what cannot be planted is rejected."""

import numpy as np
import pytest

from ntpcompanion.linear import check_separability
from ntpcompanion.linear.tables.large_tables import planted_table
from ntpcompanion.randomness import stream


@pytest.mark.parametrize("size", [1, 2, 4])
def test_planted_tables_are_separable(size):
    table = planted_table(30, 9, size, 10, stream(size, "planted"))
    assert check_separability(table).verdict.name == "SEPARABLE"
    assert table.support_sizes.min() >= 1
    assert table.support_sizes.max() <= size
    assert len(set(table.support_sizes)) == size
    np.testing.assert_allclose(table.next_token.sum(axis=1), 1)


def test_equal_generators_give_equal_tables():
    one, two = (planted_table(20, 8, 2, 9, stream(0, "same")) for _ in range(2))
    assert (one.embeddings == two.embeddings).all()
    assert (one.support != two.support).nnz == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 5, 1, 4), "`num_contexts` must"),
        ((5, 1, 1, 4), "`vocab_size` must"),
        ((5, 6, 6, 8), "`support_size` must.*5"),
        ((5, 6, 4, 3), "`support_size` must.*3"),
        ((50, 400, 2, 2), "`dim` is too small: 1000 attempts"),
    ],
)
def test_sizes_that_cannot_be_planted_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        planted_table(*arguments, stream(0, "rejected"))


def test_wrong_noise_is_refused():
    with pytest.raises(ValueError, match="`noise` must"):
        planted_table(5, 6, 2, 8, stream(0, "noise"), noise=-1.0)
