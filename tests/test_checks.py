import numpy as np
import pytest
import torch

from ntpcompanion.checks import (
    check_all,
    check_positive,
    check_rows,
    check_seed,
    check_seeds,
    check_size,
)

REFUSED = {
    "seed": (check_seed, (-1,), "`seed` must be at least 0, got -1."),
    "size": (check_size, ("batch", 0), "`batch` must be at least 1, got 0."),
    "positive": (check_positive, ("rate", 0.0), "`rate` must be positive and finite, got 0.0."),
    "a text": (check_seeds, ("ab",), "`seeds` must be a list of integers, got 'ab'."),
    "used up": (
        check_seeds,
        (iter(()),),
        "`seeds` must be a list of integers, got a tuple_iterator.",
    ),
    "one seed": (check_seeds, (3,), "`seeds` must be a list of integers, got 3."),
    "negative": (
        check_seeds,
        ([0, -1],),
        "`seeds` must hold non-negative integers only, got -1 at 1.",
    ),
    "flags": (
        check_seeds,
        ([True],),
        "`seeds` must hold non-negative integers only, got True at 0.",
    ),
    "none": (
        check_all,
        ("sizes", [], int),
        "`sizes` must hold at least one int, got an empty list.",
    ),
    "another": (
        check_all,
        ("sizes", [1, "2"], int),
        "`sizes` must hold instances of int only, got '2'.",
    ),
    "no list": (check_all, ("sizes", 1, int), "`sizes` must be a list of int, got 1."),
    "beyond": (check_rows, ("rows", [0, 3, 1], 3), "`rows` must lie in 0 … 2, got 3."),
    "below": (check_rows, ("row", -1, 3), "`row` must lie in 0 … 2, got -1."),
}


@pytest.mark.parametrize(("check", "arguments", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_told(check, arguments, sentence):
    with pytest.raises(ValueError) as refusal:
        check(*arguments)
    assert str(refusal.value) == sentence


@pytest.mark.parametrize("seeds", [range(3), (0, 1), [np.int64(4)], np.arange(2), torch.arange(2)])
def test_any_sequence_of_seeds_will_do(seeds):
    check_seeds(seeds)


@pytest.mark.parametrize("rows", [2, [0, 2], [], np.arange(3), torch.tensor([1, 1]), range(3)])
def test_rows_may_be_one_or_several(rows):
    check_rows("rows", rows, 3)


def test_what_is_right_passes():
    check_seed(np.int64(0))
    check_size("batch", 1)
    check_positive("rate", np.float32(0.1))
    check_all("sizes", (1, 2), int)
