"""Arguments are checked by their annotations, and handed on as they are."""

import dataclasses
import inspect
import pickle
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import torch
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from pydantic import TypeAdapter
from torch import Tensor

from ntpcompanion.checks import (
    Between,
    Count,
    Device,
    Finite,
    Fraction,
    Is,
    Length,
    Positive,
    Probability,
    Range,
    Seed,
    Shape,
    Shapes,
    Size,
    checked,
    need,
)
from ntpcompanion.validation import check_range, check_reachable

SEEDS = Annotated[Sequence[Seed], Length(1)]
EVEN = Annotated[int, Is(lambda x: x % 2 == 0, "be even", "Add 1.")]
MATRIX = np.ones((2, 3))
ONES = torch.ones(2, 3)
MASKED = np.ma.masked_array([1.0, 2.0], mask=[0, 1])
REFUSED = [
    (Size, 0, "`x` must be at least 1, got 0."),
    (Size, True, "`x` must be an integer, got True."),
    (Size, [1], "`x` must be an integer, got a list."),
    (Size, torch.tensor([1]), "`x` must be an integer, got a torch.Tensor"),
    (Count | None, -1, "`x` must be at least 0, got -1."),
    (Annotated[int, Range(1, 3, "(so many)")], 4, "`x` must lie in 1 … 3 (so many), got 4."),
    (float, np.nan, "`x` must be a finite number, got nan."),
    (Positive, 0, "`x` must be positive and finite, got 0.0."),
    (Probability, 1, "`x` must lie between 0 and 1, got 1.0."),
    (Fraction, 1, "`x` must be at least 0 and below 1, got 1.0."),
    (Annotated[float, Range(0, 1)], 2, "`x` must be at most 1, got 2.0."),
    (Seed, 2**64, "`x` must lie in 0 … 2^64 − 1, got 18446744073709551616."),
    (Seed, np.int64(3), "`x` must be an integer of Python, got 3 as a int64. Use int(3)."),
    (EVEN, 3, "`x` must be even, got 3. Add 1."),
    (bool, 1, "`x` must be True or False, got 1."),
    (Literal["a", "b"], "c", "`x` must be one of 'a', 'b', got 'c'."),
    (str, 1, "`x` must be a str, got 1."),
    (int | str, None, "`x` must be a int or str, got None."),
    (Device, "cuda:99", "`x` must be a device of torch that this machine has"),
    (np.random.Generator, 0, "`x` must be a numpy.random.Generator, got 0."),
    (torch.Generator, 0, "`x` must be a torch.Generator, got 0."),
    (torch.nn.LSTM, torch.nn.Linear(1, 1), "`x` must be a LSTM, got a torch.Linear."),
    (Callable[[int], int], 3, "`x` must be a function, got 3."),
    (SEEDS, [], "`x` must hold at least 1 of integers, got an empty list."),
    (SEEDS, "ab", "`x` must be a list of integers, got 'ab'."),
    (SEEDS, iter(()), "`x` must be a list of integers, got a tuple_iterator."),
    (SEEDS, np.arange(2), "`x` must be a list of integers, got a numpy.ndarray"),
    (SEEDS, [0, -1], "`x` must be at least 0, got -1. It is entry 1 of a list."),
    (Annotated[Collection[int], Range(0, 1)], {2}, "`x` must lie in 0 … 1, got 2."),
    (tuple[int, float], (1,), "`x` must hold 2 values, got a tuple."),
    (Mapping[str, Tensor], [1], "`x` must map names to values, got a list."),
    (dict[str, Tensor], {"a": 1}, "`x` must be a torch.Tensor, got 1."),
    (Int[np.ndarray, " n"], [0.5], "`x` must be an array of integers, got"),
    (Float[np.ndarray, "n 2"], MATRIX, "`x` must be a matrix of floating-point numbers with shape"),
    (Float[np.ndarray, "n"], MASKED, "`x` is a masked array with 1 masked entries, and its mask"),
    (Float[np.ndarray, "..."], [np.inf], "`x` holds inf (1 entries are not finite)."),
    (Annotated[ArrayLike, Shape("n n")], MATRIX, "`x` must be a matrix of floating-point numbers"),
    (
        Annotated[ArrayLike, Shape("n"), Between(0, 1)],
        [1],
        "`x` must lie between 0 and 1, got 1.0.",
    ),
    (Annotated[ArrayLike, Shape("n", gaps=True)], MATRIX, "`x` must be a vector of numbers with"),
    (Annotated[tuple[int, int], Is(all, "hold no zero")], (0, 1), "`x` must hold no zero, got (0"),
    (Axes, None, "`x` must be the Axes of matplotlib to draw in, got None. Take one from plots."),
    (Annotated[ArrayLike, Shape("n"), Range(0)], [-1], "`x` must lie in 0 … inf, got"),
    (Float[Tensor, "a b"], MATRIX, "`x` must be a torch.Tensor, got a numpy.ndarray"),
    (Float[Tensor, "0 b"], ONES, "`x` must be a matrix of floating-point numbers with"),
    (Float[Tensor, "a a+1 1"], ONES, "`x` must be an array of floating-point numbers with"),
    (Float[Tensor, "a {3-1}"], ONES, "`x` must be a matrix of floating-point numbers with"),
    (Int[Tensor, "a b"], ONES, "`x` must be a matrix of integers (int32 or int64) with shape"),
    (Float[Tensor, "a b"], ONES.to_sparse(), "`x` must be a matrix of floating-point numbers with"),
    (Annotated[Float[Tensor, " a"], Finite], torch.tensor([np.nan]), "`x` holds nan"),
]


@pytest.mark.parametrize(("annotation", "value", "sentence"), REFUSED)
def test_what_an_annotation_rules_out_is_told(annotation, value, sentence):
    def function(x):
        raise AssertionError("not reached")

    function.__annotations__["x"] = annotation
    with pytest.raises(ValueError) as rejection:
        checked(function)(value)
    assert str(rejection.value).startswith(sentence)
    with pytest.raises(ValueError):
        checked(function)(x=value)


ALLOWED = [
    (Size, np.int64(3)),
    (Size | None, None),
    (float, 1),
    (Any, object()),
    (SEEDS, range(3)),
    (Float[np.ndarray, "a b"], [[1, 2]]),
    (Float[np.ndarray, "a b"], torch.eye(2)),
    (Float[Tensor, "*any b"], ONES),
    (Float[Tensor, "a a+1"], ONES),
    (Annotated[Float[Tensor, "a b"], Length(0)], torch.ones(0, 2)),
    (Annotated[ArrayLike, Shape("n", gaps=True)], [1.0, np.nan]),
    (torch.nn.Linear, torch.compile(torch.nn.Linear(2, 2), backend="eager")),
    (Annotated[Float[Tensor, " a"], Range(1, 2)], torch.zeros(2, device="meta")),
    ("Tensor_of_a_type_checker", 3),
]


@pytest.mark.parametrize(("annotation", "value"), ALLOWED)
def test_what_is_right_is_handed_on_as_it_is(annotation, value):
    def function(x, y=(1,)):
        return x, y

    function.__annotations__["x"] = annotation
    call = checked(function)
    assert call(value)[0] is value
    assert call(x=value)[0] is value
    assert inspect.signature(call) == inspect.signature(function)


def test_arguments_of_a_call_are_compared():
    @checked(need("b", "len(a) < b", "be more than in `a`, for n = {n}"))
    def function(a: Float[Tensor, "n d"], b: int = 9, *, c: Float[Tensor, "d {b}"] | None = None):
        return a

    function(ONES, c=torch.ones(3, 9))
    for wrong, name in (
        ({"c": torch.ones(2, 9)}, "c"),
        ({"c": torch.ones(3, 8)}, "c"),
        ({"c": torch.ones(3, 9, device="meta")}, "c"),
        ({"b": 2}, "b"),
    ):
        with pytest.raises(ValueError, match=rf"^`{name}` must .*(got|on) .*\.$"):
            function(ONES, **wrong)
    with pytest.raises(ValueError, match="more than in `a`, for n = 2, got 2"):
        function(ONES, 2)
    with pytest.raises(ValueError, match=r"with shape \(3, 9\) to agree with `a`, got"):
        function(ONES, c=torch.ones(2, 9))
    with pytest.raises(TypeError, match="missing 1 required"):
        function()


def test_a_bound_of_another_argument_is_looked_at_after_that():
    @checked(need("x", "n > 1", "hold several, not {n}"))
    def function(x: Annotated[Int[np.ndarray, " n"], Range(0, "most - 1")], most: Size):
        return x

    for wrong, words in (
        (([3], 3), r"`x` must lie in 0 … 2, got .* from 3 to 3"),
        (([0], "3"), "`most` must be an integer, got '3'"),
        (([0], 3), "`x` must hold several, not 1"),
    ):
        with pytest.raises(ValueError, match=words):
            function(*wrong)


def test_a_module_of_shapes_alone_goes_with_tensors_on_any_device():
    @checked
    def function(network: torch.nn.Linear, parameters: Tensor):
        return parameters

    @checked
    def of_shapes(network: Annotated[torch.nn.Linear, Shapes], parameters: Tensor):
        return parameters

    network = torch.nn.Linear(2, 2, device="meta")
    of_shapes(network, torch.ones(2))
    with pytest.raises(ValueError, match="`network` must be a Linear"):
        of_shapes(3, torch.ones(2))
    with pytest.raises(ValueError, match="`parameters` must be on the device of `network`, meta"):
        function(network, torch.ones(2))


def test_entries_are_not_looked_at_under_vmap():
    @checked
    def total(x: Annotated[Float[Tensor, " d"], Range(5, 6)]):
        return x.sum()

    assert torch.func.vmap(total)(torch.ones(2, 3)).tolist() == [3, 3]


@dataclasses.dataclass(frozen=True)
@checked(need("b", "a <= b", "be at least `a` = {a}"))
class Plan:
    a: Size
    b: int = 3

    def __post_init__(self):
        assert self.a > 0


@dataclasses.dataclass(frozen=True)
class Longer(Plan):
    c: Probability = 0.5


class Module(torch.nn.Module):
    @checked
    def __init__(self, size: Size):
        super().__init__()
        self.linear = torch.nn.Linear(size, 1)

    @checked
    def measure(self, x: Float[Tensor, "n {self.linear.in_features}"]):
        return self.linear(x)


def test_fields_are_checked_however_they_are_set():
    assert pickle.loads(pickle.dumps(Plan(1))) == dataclasses.replace(Plan(2), a=1)
    for wrong in (
        lambda: Plan(0),
        lambda: Plan(4),
        lambda: dataclasses.replace(Plan(1), b=0),
        lambda: Longer(1, c=1.0),
        lambda: TypeAdapter(Plan).validate_python({"a": 1, "b": 0}),
        lambda: Module(0),
        lambda: Module(2).measure(ONES),
        lambda: Module(3).measure(ONES.to("meta")),
    ):
        with pytest.raises(ValueError, match=r"`(a|b|c|size|x)` must"):
            wrong()


@pytest.mark.parametrize("device", ["cpu", "meta", torch.device("cpu")])
def test_a_device_of_this_machine_passes(device):
    check_reachable("device", device)


@pytest.mark.parametrize("device", [None, "gpu", 2.5, "cuda:99", torch.device("cuda", 99)])
def test_another_device_is_told_with_the_reason(device):
    with pytest.raises(ValueError, match=r"`device` must be a device .* this machine .*: .*\w\.$"):
        check_reachable("device", device)


def test_entries_that_cannot_be_looked_at_pass():
    check_range("at", torch.zeros(2, device="meta"), 1, 2)
    check_range("at", torch.zeros(0), 1, 2)
    with pytest.raises(ValueError, match=r"`at` must lie in 0 … 3, got .* from 0 to 4\.$"):
        check_range("at", torch.tensor([0, 4]), 0, 3)
