import numpy as np
import pytest

from ntpcompanion.geometry.synthetic_text import synthetic_floors
from ntpcompanion.linear import ContextTable


def test_a_floor_is_the_entropy_of_a_table_with_these_counts():
    found = synthetic_floors(3, 5, 2, np.random.default_rng(7))
    drawn = np.random.default_rng(7).integers(1, 5, (3, 5, 2))
    for floor, counts in zip(found, drawn, strict=True):
        often = counts.sum(axis=1)
        p = np.pad(counts / often[:, None], ((0, 0), (0, 1)))  # a third token never follows
        table = ContextTable(np.eye(5), p, often / often.sum())
        assert floor == pytest.approx(table.entropy, rel=1e-12)


def test_one_token_leaves_nothing_open(rng):
    assert synthetic_floors(2, 3, 1, rng).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("sizes", "words"),
    [((0, 1, 1), "`tables`"), ((1, 0, 1), "`contexts`"), ((1, 1, 0), "`tokens`")],
)
def test_a_wrong_size_is_named(sizes, words, rng):
    with pytest.raises(ValueError, match=f"{words} must be"):
        synthetic_floors(*sizes, rng)
