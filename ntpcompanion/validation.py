"""Checks of what a user hands over: the same mistake gets the same sentence in every package.

`as_…` return the value as the mathematics takes it, `check_…` nothing. All raise ValueError with a
sentence that names the argument and shows what came. torch is recognized without an import.
"""

import operator
import sys
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

if TYPE_CHECKING:
    import torch

Parameters = ParamSpec("Parameters")

# Rows that were divided by their sum in float64 miss 1 by about 1e-16 times their length; rows that
# were divided in single precision (1e-7) are rejected.
SUM_TOLERANCE = 1e-8
LAST_SEED = 2**64 - 1  # of a generator of torch


def argument_check(function: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Mark a function that raises for arguments that cannot be used, and does nothing else.

    A run that was made has passed its checks, so that one more, one less or a better sentence
    leaves its numbers: what a record rests on leaves out calls of such functions. The mark is a
    promise of its author: the function looks at its arguments and raises, changes nothing, and no
    experiment catches what it raises and goes on.
    """
    return function


def require(holds: object, sentence: str) -> None:
    """Raise ValueError with a sentence unless something holds."""
    if not holds:
        raise ValueError(sentence)


def as_integer(
    name: str, value: Any, minimum: int | None = None, maximum: int | None = None, reason: str = ""
) -> int:
    """`value` as a Python integer in `minimum` … `maximum`, which `reason` explains in the
    sentence: from what `operator.index` takes, booleans excepted. ValueError otherwise, for whole
    floats too.
    """
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`{name}` must be an integer, got {described(value)}.") from error
    if (minimum is None or number >= minimum) and (maximum is None or number <= maximum):
        return number
    limits = f"lie in {minimum} … {maximum}" if maximum is not None else f"be at least {minimum}"
    raise ValueError(f"`{name}` must {limits}{reason and ' ' + reason}, got {number}.")


def as_number(name: str, value: object, minimum: float = -np.inf) -> float:
    """`value` as a finite Python float of at least `minimum`; ValueError for all others."""
    number = _real(name, value)
    if not np.isfinite(number):
        raise ValueError(f"`{name}` must be a finite number, got {number}.")
    if number < minimum:
        raise ValueError(f"`{name}` must be at least {minimum:g}, got {number}.")
    return number


def as_positive(name: str, value: object, reason: str = "") -> float:
    """`value` as a positive, finite float; ValueError otherwise, with `reason` after the limits."""
    number = _real(name, value)
    if not 0 < number < np.inf:
        raise ValueError(
            f"`{name}` must be positive and finite{reason and ', ' + reason}, got {number}."
        )
    return number


def as_between(name: str, value: object, low: float, high: float, reason: str = "") -> float:
    """`value` as a Python float strictly between `low` and `high`. ValueError otherwise."""
    number, limits = _real(name, value), f"{low:g} and {high:g}{reason and ', ' + reason}"
    if not low < number < high:
        raise ValueError(f"`{name}` must lie between {limits}, got {number}.")
    return number


def _real(name: str, value: Any) -> float:
    try:
        if isinstance(value, str | bytes | bool | np.bool_) or np.ndim(value):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"`{name}` must be a number, got {described(value)}.") from error


def as_array(name: str, value: object) -> np.ndarray:
    """`value` as a float64 array: from lists, NumPy arrays, data frames and tensors; not copied if
    it is one already.

    Raises ValueError for masked entries, strings, complex numbers and lists of uneven lengths.
    """
    array = _any_array(name, value)
    strings = array.dtype.kind == "O" and any(isinstance(x, str | bytes) for x in array.flat)
    if array.dtype.kind not in "fiubO" or strings:
        raise ValueError(f"`{name}` must be an array of numbers, got {described(value)}.")
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`{name}` must be an array of numbers, got {described(value)}: {error}."
        ) from error


def as_integer_array(name: str, value: object) -> np.ndarray:
    """`value` as an int64 array. ValueError for masked entries, and for floats and booleans."""
    array = _any_array(name, value)
    if array.dtype.kind not in "iu" and array.size:
        got = described(value if hasattr(value, "dtype") else array)
        raise ValueError(f"`{name}` must be an array of integers, got {got}.")
    return array.astype(np.int64, copy=False)


def _any_array(name: str, value: Any) -> np.ndarray:
    if np.ma.is_masked(value):
        raise ValueError(
            f"`{name}` is a masked array with {np.ma.count_masked(value)} masked entries, and its "
            "mask would be ignored. Fill them or leave them out."
        )
    try:
        return np.asarray(value.detach().cpu() if is_tensor(value) else value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"`{name}` must be an array of numbers, got {described(value)}: {error}."
        ) from error


def as_shaped(
    name: str, value: object, shape: tuple[int | None, ...], description: str = ""
) -> np.ndarray:
    """`value` as a finite float64 array of a shape (None: any positive length), a read-only view
    where it is one already. Raises ValueError, with a `description` of the entries behind the
    shape.
    """
    array = as_array(name, value).view()
    check_shape(name, array.shape, shape, description)
    check_finite(name, array)
    array.flags.writeable = False
    return array


def as_matrix(name: str, value: object, shape: tuple[int | None, int | None]) -> np.ndarray:
    """`as_shaped` for a matrix."""
    return as_shaped(name, value, shape)


def check_shape(
    name: str, shape: tuple[int, ...], wanted: tuple[int | None, ...], description: str = ""
) -> None:
    """ValueError unless a shape is the wanted one; None stands for any positive length."""
    if (
        len(shape) == len(wanted)
        and 0 not in shape
        and all(want in (None, have) for want, have in zip(wanted, shape, strict=True))
    ):
        return
    lengths = ", ".join("any" if want is None else str(want) for want in wanted)
    if len(wanted) == 1:
        kind = "a vector" if wanted[0] is None else f"a vector of length {lengths}"
    else:
        kind = f"{'a matrix' if len(wanted) == 2 else 'an array'} of shape ({lengths})"
    raise ValueError(
        f"`{name}` must be {kind}{description and ', ' + description}, got shape {tuple(shape)}."
    )


def check_finite(name: str, entries: np.ndarray) -> None:
    """ValueError if an entry is NaN or infinite."""
    finite = np.isfinite(entries)
    if not finite.all():
        raise ValueError(
            f"`{name}` holds {entries[~finite][0]} ({np.count_nonzero(~finite)} entries are not "
            "finite). Remove or replace them."
        )


def check_probabilities(name: str, entries: np.ndarray, sums: np.ndarray | np.floating) -> None:
    """ValueError unless entries, in any order, are finite and not negative, and their sum, or the
    vector of the sums of rows, is 1 within SUM_TOLERANCE.
    """
    check_finite(name, entries)
    check_not_negative(name, entries)
    check_sums(name, sums)


@argument_check
def check_not_negative(name: str, entries: np.ndarray) -> None:
    """ValueError if an entry is below zero."""
    if entries.size and entries.min() < 0:
        raise ValueError(
            f"`{name}` holds the negative entry {entries.min():.6g}. Entries must be probabilities."
        )


def check_sums(name: str, sums: np.ndarray | np.floating) -> None:
    """ValueError unless sums of probabilities are 1 within SUM_TOLERANCE."""
    off = np.abs(np.asarray(sums) - 1)
    if off.size and off.max() > SUM_TOLERANCE:
        row = int(off.argmax())
        which, each = (f" row {row}", "each row by its") if off.ndim else ("", "it by its")
        raise ValueError(
            f"`{name}`{which} sums to {np.ravel(sums)[row]:.12g}, not to 1 within "
            f"{SUM_TOLERANCE:g}. Divide {each} sum in float64."
        )


def check_choice(name: str, value: object, known: Collection[str]) -> None:
    """ValueError unless the value is one of the known words."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(
            f"`{name}` must be one of {', '.join(map(repr, known))}, got {described(value)}."
        )


@argument_check
def check_flag(name: str, value: object) -> None:
    """ValueError unless the value is True or False: "yes" and "no" would both count as true."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"`{name}` must be True or False, got {described(value)}.")


@argument_check
def check_instance(name: str, value: object, kind: type) -> None:
    """ValueError unless the value is of a class."""
    if not isinstance(value, kind):
        raise ValueError(f"`{name}` must be a {kind.__name__}, got {described(value)}.")


@argument_check
def check_callable(name: str, value: object) -> None:
    """ValueError unless the value can be called."""
    if not callable(value):
        raise ValueError(f"`{name}` must be a function, got {described(value)}.")


@argument_check
def check_generator(name: str, value: object) -> None:
    """ValueError unless the value is a generator of NumPy."""
    if not isinstance(value, np.random.Generator):
        raise ValueError(
            f"`{name}` must be a numpy.random.Generator, got {described(value)}. Use "
            "np.random.default_rng(seed)."
        )


def check_torch_generator(name: str, value: object) -> None:
    """ValueError unless the value is a generator of torch."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Generator):
        raise ValueError(
            f"`{name}` must be a torch.Generator, got {described(value)}. Use "
            "torch.Generator().manual_seed(seed)."
        )


def check_tensor(name: str, value: object) -> None:
    """ValueError unless the value is a tensor of torch."""
    if not is_tensor(value):
        raise ValueError(
            f"`{name}` must be a torch.Tensor, got {described(value)}. Wrap it in torch.tensor."
        )


def is_tensor(value: object) -> bool:
    """Whether the value is a tensor of torch; where torch was never imported, nothing is."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def described(value: object) -> str:
    """What came, in a few words: a plain value as it is written, an array by dtype and shape,
    anything else by its class.
    """
    if value is None or isinstance(value, str | bytes | bool | int | float | complex | np.generic):
        text = repr(value.item() if isinstance(value, np.generic) else value)
        return text if len(text) <= 60 else text[:57] + "…"
    kind = type(value)
    owner = kind.__module__.split(".")[0]
    title = kind.__qualname__ if owner == "builtins" else f"{owner}.{kind.__qualname__}"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"a {title} of {value.dtype} with shape {tuple(value.shape)}"
    return f"a {title}"


@argument_check
def check_seed(name: str, seed: object) -> None:
    """ValueError unless a generator of torch takes the seed: a non-negative integer of Python."""
    number = as_integer(name, seed, 0)
    if number > LAST_SEED:
        raise ValueError(f"`{name}` must lie in 0 … 2^64 − 1, got {described(seed)}.")
    if not isinstance(seed, int):
        raise ValueError(
            f"`{name}` must be an integer of Python, got {number} as a {type(seed).__name__}. Use "
            f"int({number})."
        )


def check_reachable(name: str, device: Any) -> None:
    """ValueError unless tensors can be made on the device: torch knows it and this machine has it.
    None is rejected.
    """
    import torch

    try:
        torch.empty(0, device=torch.device(device))
    except (RuntimeError, TypeError, ValueError, AssertionError) as error:
        known = not isinstance(error, TypeError)
        reason = str(error).partition("\n")[0].rstrip(".:") if known else "torch knows none such"
        shown = str(device) if isinstance(device, torch.device) else device
        raise ValueError(
            f"`{name}` must be a device of torch that this machine has, such as 'cpu' or 'cuda', "
            f"got {described(shown)}: {reason}."
        ) from error


def check_sentences(
    name: str, tokens: Any, parameter: Any, columns: int, *, shorter: bool = False
) -> None:
    """ValueError unless the value is a matrix of integers of torch on the device of a parameter of
    a model, with as many columns as that has positions, or fewer where they may be `shorter`.

    It looks at kind, shape and device only: tokens may stand for many under `torch.func.vmap`.
    """
    check_tensor(name, tokens)
    if tokens.ndim != 2 or str(tokens.dtype) not in ("torch.int64", "torch.int32"):
        raise ValueError(
            f"`{name}` must be a matrix of integers (int64 or int32), a sentence in each row, got "
            f"{described(tokens)}."
        )
    if tokens.device != parameter.device or str(tokens.layout) != "torch.strided":
        raise ValueError(
            f"`{name}` must be dense and on the device of the model, {parameter.device}, got "
            f"{described(tokens)} on {tokens.device}, {tokens.layout}."
        )
    if tokens.shape[1] > columns or (tokens.shape[1] < columns and not shorter):
        wanted = f"at most {columns}" if shorter else columns
        raise ValueError(
            f"`{name}` must have {wanted} columns, the `positions` of the model, got "
            f"{tokens.shape[1]}. Pad with −1 on the right, or build a model with more `positions`."
        )


def check_positions(name: str, positions: Any, tokens: Any) -> None:
    """ValueError unless the value holds positions, a row for each sentence; likewise."""
    check_sentences(name, positions, tokens, positions.shape[-1] if is_tensor(positions) else 0)
    if len(positions) != len(tokens):
        raise ValueError(
            f"`{name}` must have a row for each of the {len(tokens)} rows of `tokens`, got "
            f"{described(positions)}."
        )


def check_parameters(name: str, parameters: Any, network: Any) -> None:
    """ValueError unless the parameters are those of networks of one shape."""
    wanted = {key: tuple(p.shape) for key, p in network.named_parameters()}
    floats = {key: p for key, p in parameters.items() if p.is_floating_point()}
    shapes = {key: tuple(p.shape[1:]) for key, p in floats.items()}
    if wrong := sorted(key for key, _ in wanted.items() ^ shapes.items()):
        raise ValueError(
            f"`{name}` must hold floating-point numbers of the shapes (networks, …) that `plan` "
            f"says, got {described(parameters)} with {described(parameters.get(wrong[0]))} under "
            f"{wrong[0]!r}."
        )


@argument_check
def check_range(name: str, value: "torch.Tensor", minimum: float, maximum: float) -> None:
    """ValueError unless all entries lie between two numbers, or equal one of them. Entries that
    cannot be looked at pass: there are none, or they stand for many under `torch.func.vmap`.
    """
    try:
        low, high = value.min().item(), value.max().item()
    except RuntimeError:
        return
    if not (minimum <= low and high <= maximum):
        raise ValueError(
            f"`{name}` must lie in {minimum:g} … {maximum:g}, got {described(value)} from {low:g} "
            f"to {high:g}."
        )
