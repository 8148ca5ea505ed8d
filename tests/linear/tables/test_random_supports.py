import numpy as np
import pytest
from scipy.stats import chisquare

from ntpcompanion.linear import ContextTable
from ntpcompanion.linear.tables.random_supports import draw_supports


@pytest.mark.parametrize("size", [1, 2, 4])
def test_supports_are_sets_of_one_size_each_as_likely(rng, size):
    drawn = np.sort(draw_supports(4000, 5, size, rng), axis=1)
    assert (np.diff(drawn, axis=1) > 0).all()
    sets, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(sets) == {1: 5, 2: 10, 4: 5}[size]
    assert chisquare(counts).pvalue > 1e-6


def test_a_random_table_has_the_supports_of_its_generator():
    table = ContextTable.random(6, 5, 2, 3, np.random.default_rng(0))
    drawn = draw_supports(6, 5, 2, np.random.default_rng(0))
    assert [set(row) for row in drawn] == [set(np.flatnonzero(row)) for row in table.next_token]
