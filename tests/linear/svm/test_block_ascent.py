"""The blocked method: its dual rises, its limit is the solution, and blocks are what they say."""

from itertools import islice

import numpy as np
import pytest

from ntpcompanion.linear import certified_gap, solve_ntp_svm
from ntpcompanion.linear.svm.block_ascent import blocked_ascent
from ntpcompanion.linear.tables.large_tables import planted_table
from ntpcompanion.randomness import stream


@pytest.fixture
def table():
    return planted_table(30, 8, 2, 12, stream(0, "blocked"))


@pytest.mark.parametrize("blocks", [1, 3, 30])
def test_the_dual_value_never_falls_and_stays_below_the_solution(table, blocks):
    best = np.linalg.norm(solve_ntp_svm(table).weights) ** 2 / 2
    values = []
    for gamma in islice(blocked_ascent(table, blocks=blocks), 30):
        linear = -gamma[~table.support.toarray()].sum()
        values.append(linear - np.linalg.norm(gamma.T @ table.embeddings) ** 2 / 2)
        assert np.abs(gamma.sum(axis=1)).max() < 1e-10
    assert np.diff(values).min() >= -1e-9
    assert values[-1] <= best * (1 + 1e-6)
    assert values[-1] > values[0] > 0


def test_one_block_reaches_the_solution(table):
    *_, last = islice(blocked_ascent(table, blocks=1, local_steps=100), 30)
    assert certified_gap(table, last) < 1e-3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"blocks": 31}, "`blocks`"),
        ({"blocks": 2, "local_steps": 0}, "`local_steps`"),
    ],
)
def test_wrong_numbers_are_named(table, given, words):
    with pytest.raises(ValueError, match=words):
        blocked_ascent(table, **given)
