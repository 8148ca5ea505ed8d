import numpy as np
import pytest
import torch

from ntpcompanion.validation import (
    check_all,
    check_module,
    check_named_tensors,
    check_positive,
    check_range,
    check_reachable,
    check_row,
    check_rows,
    check_seed,
    check_seeds,
    check_size,
)

REFUSED = {
    "seed": (check_seed, (-1,), "`seed` must be at least 0, got -1."),
    "large seed": (
        check_seed,
        (2**64,),
        "`seed` must lie in 0 … 2^64 − 1, got 18446744073709551616.",
    ),
    "seed of NumPy": (
        check_seed,
        (np.int64(3),),
        "`seed` must be an integer of Python, got 3 as a int64. Use int(3).",
    ),
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
        "`seeds` must be at least 0, got -1.",
    ),
    "flags": (
        check_seeds,
        ([True],),
        "`seeds` must be an integer, got True.",
    ),
    "an array of seeds": (
        check_seeds,
        (np.arange(2),),
        "`seeds` must be a list of integers, got a numpy.ndarray of int64 with shape (2,). Use "
        ".tolist().",
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
    "below": (check_row, ("row", -1, 3), "`row` must lie in 0 … 2, got -1."),
    "several": (check_row, ("row", [1], 3), "`row` must be an integer, got a list."),
    "several in a tensor": (
        check_row,
        ("row", torch.tensor([1]), 3),
        "`row` must be an integer, got a torch.Tensor of torch.int64 with shape (1,).",
    ),
    "one row": (check_rows, ("rows", 1, 3), "`rows` must be a list of integers, got 1."),
    "no row": (
        check_rows,
        ("rows", [], 3, 1),
        "`rows` must hold at least 1 integer, got a list.",
    ),
    "a scalar": (
        check_all,
        ("sizes", torch.tensor(1), int),
        "`sizes` must be a list of int, got a torch.Tensor of torch.int64 with shape ().",
    ),
    "another module": (
        check_module,
        ("model", torch.nn.Linear(2, 2), torch.nn.LSTM),
        "`model` must be a LSTM, got a torch.Linear.",
    ),
    "no map": (
        check_named_tensors,
        ("start", [1]),
        "`start` must map names to tensors, got a list.",
    ),
    "out of range": (
        check_range,
        ("at", torch.tensor([0, 4]), 0, 3),
        "`at` must lie in 0 … 3, got a torch.Tensor of torch.int64 with shape (2,) from 0 to 4.",
    ),
}


@pytest.mark.parametrize(("check", "arguments", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_told(check, arguments, sentence):
    with pytest.raises(ValueError) as rejection:
        check(*arguments)
    assert str(rejection.value) == sentence


@pytest.mark.parametrize("seeds", [range(3), (0, 1), [4, 2**64 - 1]])
def test_any_sequence_of_seeds_of_python_will_do(seeds):
    """Others a generator of torch rejects."""
    check_seeds(seeds)
    for seed in seeds:
        torch.Generator().manual_seed(seed)
    with pytest.raises(TypeError):
        torch.Generator().manual_seed(np.int64(4))


@pytest.mark.parametrize("rows", [[0, 2], [], np.arange(3), torch.tensor([1, 1]), range(3)])
def test_rows_may_be_lists_arrays_and_tensors(rows):
    check_rows("rows", rows, 3)


@pytest.mark.parametrize("device", ["cpu", "meta", torch.device("cpu")])
def test_a_device_of_this_machine_passes(device):
    check_reachable("device", device)


@pytest.mark.parametrize("device", [None, "gpu", 2.5, "cuda:99", torch.device("cuda", 99)])
def test_another_device_is_told_with_the_reason(device):
    with pytest.raises(ValueError, match=r"`device` must be a device .* this machine .*: .*\w\.$"):
        check_reachable("device", device)


def test_a_compiled_module_passes_for_the_module():
    check_module("model", torch.compile(torch.nn.Linear(2, 2), backend="eager"), torch.nn.Linear)


def test_entries_that_cannot_be_looked_at_pass():
    check_range("at", torch.zeros(2, device="meta"), 1, 2)
    check_range("at", torch.zeros(0), 1, 2)

    def total(x):
        check_range("at", x, 5, 6)
        return x.sum()

    assert torch.func.vmap(total)(torch.ones(2, 3)).tolist() == [3, 3]


def test_what_is_right_passes():
    check_seed(0)
    check_row("row", np.int64(2), 3)
    check_size("batch", 1)
    check_positive("rate", np.float32(0.1))
    check_all("sizes", (1, 2), int)
