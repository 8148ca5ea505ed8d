"""What a user may write by mistake in the place of an argument, and what must be said to it."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pandas as pd
import pytest
import torch

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 4.0]}, index=pd.Index([1, 2, 3]))
HOLES = np.full((2, 2), np.nan)
MISTAKES: Mapping[str, tuple] = {
    "integer": ("3", 2.5, True, -1, np.nan, None),
    "index": ("1", 1.5, None, 9),
    "positive": ("x", np.nan, True, -1.0, 0.0, None, np.ones(2), np.inf),
    "number": ("x", np.nan, True, None, np.ones(2)),
    "table": (None, np.eye(2), "table"),
    "rng": (0, None, np.random),
    "generator": (0, None, np.random.default_rng(0)),
    "matrix": ("x", None, HOLES, np.ones(3), np.empty((0, 2))),
    "start": ("x", HOLES, np.ones(3)),
    "vector": ("x", None, [np.nan, 1.0], [], np.ones((2, 2)), ["a", "b", "c"]),
    "series": ("x", None, ["a", "b", "c"], [1.0, 2.0], np.ones((3, 2))),
    "tokens": ("x", None, [[0.0, 1.0]], [[True, False]], [[0, 9]], [[0, -1]]),
    "look": ("misspelled", None),
    "choice": ("misspelled", 3, None),
    "function": ("f", 3),
    "text": (3, None, ["a"]),
    "pair": (None, 3, (1,), ("a", "b"), (np.nan, 0)),
    "axes": (None, "ax", np.ones(2)),
    "frame": (None, [1, 2], "frame", FRAME.rename(columns=str.upper), pd.DataFrame()),
    "counts": (None, [], [1, 2], "counts"),
    "point": ([1.0, 2.0], np.ones(2), None, torch.ones((2, 2)), torch.full((2,), torch.nan)),
    "columns": (None, np.eye(2), torch.ones(2, 3).double(), torch.eye(2), torch.ones(2).double()),
    "inputs": (None, np.ones((3, 2)), torch.ones(()), torch.ones((0, 2))),
    "size": ("3", 2.5, True, 0, -1, np.nan, None),
    "two": ("3", 2.5, True, 1, 0, -1, np.nan, None),
    "size_or_none": ("3", 2.5, True, 0, -1, np.nan),
    "values": ("x", None, [], [1.0], [1.0, np.nan]),
    "device": ("gpu", 3.5),
    "dtype": ("float64", int, torch.int64),
}


def trials(
    rows: str, right: Mapping[str, tuple[Callable, dict]], own: Mapping[str, tuple] | None = None
) -> list:
    """A trial for every argument, with all mistakes of its kind: rows are `call: argument=kind …`,
    calls those of `right`; kinds are those of MISTAKES, and what a package adds in `own`.
    """
    kinds = {**MISTAKES, **(own or {})}
    return [
        pytest.param(*right[name], argument, kinds[kind], id=f"{name}-{argument}-{kind}")
        for name, _, pairs in (row.partition(":") for row in rows.strip().splitlines())
        for argument, kind in (pair.split("=") for pair in pairs.split())
    ]


def wrong_calls(
    rows: str, right: Mapping[str, tuple[Callable, dict]], own: Mapping[str, tuple] | None = None
) -> Callable:
    """The test of a package that each of its `trials` is answered by sentences."""

    @pytest.mark.parametrize(("call", "arguments", "argument", "values"), trials(rows, right, own))
    @pytest.mark.usefixtures("unchecked_shapes")
    def test(call: Callable, arguments: dict, argument: str, values: tuple) -> None:
        for value in values:
            print(f"{argument}={value!r}")  # shown if it fails
            check_named(call, arguments, argument, value)

    return test


def made_fresh(arguments: Mapping[str, object]) -> dict[str, object]:
    """The arguments of a call; a function among them makes the one that stands for it."""
    return {name: made() if callable(made) else made for name, made in arguments.items()}


def check_named(call: Callable, arguments: dict, argument: str, value: object) -> None:
    """The mistake is answered by a sentence that names the argument and says what came."""
    with pytest.raises(ValueError) as rejection:
        _finished(call(**made_fresh(arguments) | {argument: value}))
    sentence = str(rejection.value)
    assert f"`{argument}`" in sentence
    assert sentence.endswith(".")
    assert any(word in sentence for word in _shown(value)), sentence


def _finished(answer: object) -> None:
    """Take the steps of a generator, which checks nothing before the first."""
    if isinstance(answer, Iterator):
        list(answer)


def _shown(value: object) -> list[str]:
    """How a value may be told: as it is written, by its kind and shape, or by an entry."""
    words = ["at least", "empty", "a text", repr(value), str(value), type(value).__name__]
    if isinstance(value, pd.DataFrame):
        return [*words, "It has"]
    if torch.is_tensor(value) and (value.is_meta or value.is_sparse):  # no array is made of it
        return [*words, str(value.device), str(value.layout)]
    array = np.asarray(value)
    return [
        *words,
        str(array.shape),
        str(array.dtype),
        "nan",
        str(array.size),
        *map(str, array.ravel()),
    ]
