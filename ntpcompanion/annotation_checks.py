"""The test that belongs to an annotation, for `ntpcompanion.checks`."""

import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol, Union, get_args, get_origin, no_type_check

import numpy as np
from jaxtyping import Float, Int, Num

from ntpcompanion import validation
from ntpcompanion.checks import Between, Is, Length, Mark, Range, Shape, Shapes
from ntpcompanion.validation import described

Test = Callable[[str, Any, "Call"], object]
PANEL = Is(
    bool,
    "be the Axes of matplotlib to draw in",
    "Take one from plots.figure() or pyplot.subplots().",
)
NOUNS = {0: "a number", 1: "a vector", 2: "a matrix"}


@no_type_check
class Call:
    """The arguments of one call, and the lengths and the device that those before have."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self.named = named
        self.lengths: dict[str, int] = {}
        self.owners: dict[str, str] = {}  # the argument that has the axis of a length
        self.home: tuple[str, Any] | None = None

    def value(self, expression: Any) -> Any:
        """What an expression in arguments and lengths of axes comes to."""
        if not isinstance(expression, str):
            return expression
        return eval(expression, {"len": len}, {**self.lengths, **self.named})


@no_type_check
def make_test(annotation: Any, marks: tuple[Any, ...] = ()) -> Test | None:
    """The test of a value by its annotation and what stands beside that; None if any will do."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return make_test(parts[0], parts[1:] + marks)
    kind = None if Mark.DEVICE in marks else _kind_test(annotation, origin, parts, marks)
    tests = [kind] if kind else []
    tests += [_mark_test(mark) for mark in marks if isinstance(mark, Is) or mark is Mark.DEVICE]
    if len(tests) < 2:
        return tests[0] if tests else None

    def every(name: str, value: Any, call: Call) -> None:
        for test in tests:
            test(name, value, call)

    return every


@no_type_check
def _mark_test(mark: Any) -> Test:
    if mark is Mark.DEVICE:
        return lambda name, value, call: validation.check_reachable(name, value)
    return lambda name, value, call: mark.test(value) or reject(name, value, mark, call)


@no_type_check
def reject(name: str, value: object, mark: Any, call: Call) -> None:
    """Raise ValueError with the sentence of an `Is` or a `need`."""
    wanted = mark.wanted.format_map({**call.named, **call.lengths})
    advice = mark.advice and f" {mark.advice}"
    raise ValueError(f"`{name}` must {wanted}, got {_shown(value)}.{advice}")


def _shown(value: object) -> str:
    """A list of a few numbers, or a dtype, as it is written, anything else as it is described."""
    if type(value).__name__ == "dtype":
        return str(value)
    entries = value.tolist() if isinstance(value, np.ndarray) and value.ndim == 1 else value
    if isinstance(entries, list | tuple) and len(entries) < 9 and all(map(np.isscalar, entries)):
        return str(entries)
    return described(value)


@no_type_check
def _kind_test(annotation: Any, origin: Any, parts: Any, marks: Any) -> Test | None:
    for mark in marks:
        if isinstance(mark, Shape):
            kind = Int if mark.integers else Num if mark.gaps else Float
            return _Array(kind[np.ndarray, mark.dims], marks)
    if origin in (Union, types.UnionType):
        return _any_of(parts, marks)
    if origin is Literal:
        return lambda name, value, call: validation.check_choice(name, value, parts)
    if hasattr(annotation, "dim_str"):
        return _Array(annotation, marks)
    if annotation in (int, float):
        return _number_test(annotation, marks)
    if annotation is bool:
        return lambda name, value, call: validation.check_flag(name, value)
    return _instance_test(origin or annotation, parts, marks)


@no_type_check
def _instance_test(kind: Any, parts: Any, marks: Any) -> Test | None:
    if kind is Callable:
        return lambda name, value, call: validation.check_callable(name, value)
    if kind is tuple and Ellipsis not in parts:
        return _tuple_test([make_test(part, _of_entries(marks)) for part in parts])
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return _mapping_test(make_test(parts[1]) if parts else None)
    if kind in (list, tuple, Sequence, Collection):
        return _list_test(parts[0] if parts else Any, marks)
    if not isinstance(kind, type) or kind in (object, Any) or not _is_class(kind):
        return None
    return _class_test(kind, marks)


def _is_class(kind: type) -> bool:
    """Whether something can be an instance: a protocol only says so of what it names."""
    return Protocol not in kind.__mro__ or getattr(kind, "_is_runtime_protocol", False)


@no_type_check
def _class_test(kind: type, marks: Any) -> Test:
    module, name = kind.__module__.partition(".")[0], kind.__name__
    if kind is np.random.Generator:
        return lambda name, value, call: validation.check_generator(name, value)
    if module == "torch" and name == "Generator":
        return lambda name, value, call: validation.check_torch_generator(name, value)
    if module == "torch" and name == "Tensor":
        return _tensor_test
    if module == "matplotlib" and name == "Axes":
        return lambda name, value, call: isinstance(value, kind) or reject(name, value, PANEL, call)
    if "torch.nn.modules.module" in {each.__module__ for each in kind.__mro__}:

        def module_test(name: str, value: Any, call: Call) -> None:
            # what torch.compile makes of one
            validation.check_instance(name, getattr(value, "_orig_mod", value), kind)
            if Shapes not in marks:
                check_one_device(name, value, call)

        return module_test
    return lambda name, value, call: validation.check_instance(name, value, kind)


@no_type_check
def _tensor_test(name: str, value: Any, call: Call) -> None:
    validation.check_tensor(name, value)
    check_one_device(name, value, call)


@no_type_check
def check_one_device(name: str, value: Any, call: Call) -> None:
    """Raise ValueError unless tensors and modules of one call are on one device."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if isinstance(value, torch.nn.Module):
        # within `__init__` it has none yet
        value = next(value.parameters(), None) if "_parameters" in vars(value) else None
    if not isinstance(value, torch.Tensor):
        return
    if call.home is None:
        call.home = (name, value.device)
    elif value.device != call.home[1]:
        other = "the model" if call.home[0] == "self" else f"`{call.home[0]}`"
        raise ValueError(
            f"`{name}` must be on the device of {other}, {call.home[1]}, got {described(value)} on "
            f"{value.device}. Use .to(...)."
        )


@no_type_check
def _any_of(parts: Any, marks: Any) -> Test | None:
    optional = type(None) in parts
    kinds = [part for part in parts if part is not type(None)]
    tests = [make_test(kind, marks) for kind in kinds]
    if None in tests:
        return None
    plain = all(isinstance(kind, type) and not hasattr(kind, "dim_str") for kind in kinds)

    def test(name: str, value: Any, call: Call) -> None:
        if value is None and optional:
            return
        errors = []
        for each in tests:
            try:
                return each(name, value, call)
            except ValueError as error:
                errors.append(error)
        if len(errors) > 1 and plain:
            names = " or ".join(kind.__name__ for kind in kinds)
            plan = " Of a plan, pass what `build()` returns." if hasattr(value, "build") else ""
            raise ValueError(f"`{name}` must be a {names}, got {described(value)}.{plan}")
        raise errors[0]

    return test


@no_type_check
def _number_test(kind: type, marks: Any) -> Test:
    test = _scalar_test(kind, marks)

    def of_one(name: str, value: Any, call: Call) -> None:
        if getattr(value, "ndim", 0):  # torch takes one entry for a number
            wanted = "an integer" if kind is int else "a number"
            raise ValueError(f"`{name}` must be {wanted}, got {described(value)}.")
        test(name, value, call)

    return of_one


@no_type_check
def _scalar_test(kind: type, marks: Any) -> Test:
    for mark in marks:
        if mark is Mark.SEED:
            return lambda name, value, call: validation.check_seed(name, value)
        if isinstance(mark, Between) and mark.low == 0 and mark.high == np.inf:
            return lambda name, value, call: validation.as_positive(name, value, mark.reason)
        if isinstance(mark, Between):
            return lambda name, value, call: validation.as_between(
                name, value, mark.low, mark.high, mark.reason
            )
        if isinstance(mark, Range):
            return _range_test(kind, mark)
    if kind is int:
        return lambda name, value, call: validation.as_integer(name, value)
    return lambda name, value, call: validation.as_number(name, value)


@no_type_check
def _range_test(kind: type, mark: Range) -> Test:
    def test(name: str, value: Any, call: Call) -> None:
        low, high = call.value(mark.minimum), call.value(mark.maximum)
        if kind is int:
            validation.as_integer(name, value, low, high, mark.reason)
            return
        number = validation.as_number(name, value, -np.inf if low is None else low)
        if mark.below is not None and number >= mark.below:
            raise ValueError(
                f"`{name}` must be at least {low} and below {mark.below}, got {number}."
            )
        if high is not None and number > high:
            raise ValueError(f"`{name}` must be at most {high:g}, got {number}.")

    return test


@no_type_check
def _entries(name: str, values: Any, wanted: str) -> Any:
    if isinstance(values, str | bytes | Iterator) or not isinstance(values, Collection):
        raise ValueError(f"`{name}` must be a list of {wanted}, got {described(values)}.")
    return values


@no_type_check
def _of_entries(marks: Any) -> tuple[Any, ...]:
    return tuple(mark for mark in marks if not isinstance(mark, Length | Is))


@no_type_check
def _list_test(entry: Any, marks: Any) -> Test:
    test = make_test(entry, _of_entries(marks))
    minimum = max((mark.minimum for mark in marks if isinstance(mark, Length)), default=0)
    kind = get_args(entry)[0] if get_origin(entry) is Annotated else entry
    wanted = {int: "integers", float: "numbers", bool: "True and False"}.get(
        kind, getattr(kind, "__name__", "values")
    )
    python_only = kind is int and any(mark is Mark.SEED for mark in (*marks, *get_args(entry)))

    def several(name: str, values: Any, call: Call) -> None:
        if python_only and hasattr(values, "__array__"):
            raise ValueError(
                f"`{name}` must be a list of integers, got {described(values)}. Use .tolist()."
            )
        if getattr(values, "ndim", 1) != 1:
            raise ValueError(f"`{name}` must be a list of {wanted}, got {described(values)}.")
        if (count := len(_entries(name, values, wanted))) < minimum:
            got = f"{count} in {described(values)}" if count else "an empty list"
            raise ValueError(f"`{name}` must hold at least {minimum} of {wanted}, got {got}.")
        for number, value in enumerate(values if test else ()):
            try:
                test(name, value, call)
            except ValueError as error:
                raise ValueError(f"{error} It is entry {number} of {described(values)}.") from error

    return several


@no_type_check
def _tuple_test(tests: list[Test | None]) -> Test:
    def test(name: str, values: Any, call: Call) -> None:
        if len(_entries(name, values, "values")) != len(tests):
            raise ValueError(f"`{name}` must hold {len(tests)} values, got {described(values)}.")
        for one, value in zip(tests, values, strict=True):
            if one:
                one(name, value, call)

    return test


@no_type_check
def _mapping_test(entry: Test | None) -> Test:
    def test(name: str, value: Any, call: Call) -> None:
        if not isinstance(value, Mapping):
            raise ValueError(f"`{name}` must map names to values, got {described(value)}.")
        for key, each in value.items() if entry else ():
            try:
                entry(name, each, call)
            except ValueError as error:
                raise ValueError(f"{error} It is under {key!r} in {described(value)}.") from error

    return test


@no_type_check
class _Array:
    """The test of an array or tensor by what jaxtyping says of it: kind, dtype, lengths of axes."""

    def __init__(self, annotation: Any, marks: Any) -> None:
        self.dims = annotation.dim_str.replace("#", "").split()
        self.open = any(dim[0] == "*" or dim == "..." for dim in self.dims)
        self.tensor = annotation.array_type.__name__ == "Tensor"
        dtypes = annotation.dtypes if isinstance(annotation.dtypes, tuple) else ()
        self.integers = bool(dtypes) and all("int" in dtype for dtype in dtypes)
        self.booleans = bool(dtypes) and all("bool" in dtype for dtype in dtypes)
        self.floats = "float64" in dtypes and "int64" not in dtypes
        # an embedding looks up no others
        signed = [dtype for dtype in dtypes if dtype in ("int32", "int64")]
        self.dtypes = list(dtypes) if "uint8" in dtypes else signed or list(dtypes)
        self.finite = any(mark is Mark.FINITE for mark in marks)
        self.range = next((mark for mark in marks if isinstance(mark, Range)), None)
        self.between = next((mark for mark in marks if isinstance(mark, Between)), None)
        self.empty = any(isinstance(mark, Length) and not mark.minimum for mark in marks)

    def __call__(self, name: str, value: Any, call: Call) -> None:
        if self.tensor:
            validation.check_tensor(name, value)
            dtype = str(value.dtype).removeprefix("torch.")
            if (self.dtypes and dtype not in self.dtypes) or str(value.layout) != "torch.strided":
                self.reject(name, value, call)
            check_one_device(name, value, call)
            array = value
        elif self.integers:
            array = validation.as_integer_array(name, value)
        elif self.booleans:
            array = np.asarray(value)
            if array.dtype != bool:
                self.reject(name, value, call)
        else:
            array = validation.as_array(name, value)
        self.check_shape(name, array, call)
        if (self.floats and not self.tensor) or self.finite:
            _check_finite(name, array)
        if self.range is not None and 0 not in array.shape:
            low, high = call.value(self.range.minimum), call.value(self.range.maximum)
            validation.check_range(
                name, array, -np.inf if low is None else low, np.inf if high is None else high
            )
        if self.between is not None:
            outside = array[(array <= self.between.low) | (array >= self.between.high)]
            for entry in outside[:1]:
                _scalar_test(float, [self.between])(name, float(entry), call)

    def check_shape(self, name: str, array: Any, call: Call) -> None:
        shape, dims = tuple(array.shape), self.dims
        if self.open:
            dims = [dim for dim in dims if dim[0] != "*" and dim != "..."]
            start = len(self.dims) and (self.dims[0][0] == "*" or self.dims[0] == "...")
            shape = shape[len(shape) - len(dims) :] if start else shape[: len(dims)]
        if len(shape) != len(dims) or (0 in array.shape and not self.empty):
            self.reject(name, array, call)
        for dim, length in zip(dims, shape, strict=True):
            if dim.isidentifier() and dim[0] != "_" and dim not in call.lengths:
                call.lengths[dim], call.owners[dim] = length, name
            elif dim[0] != "_" and self.wanted(dim, call) != length:
                self.reject(name, array, call)

    def wanted(self, dim: str, call: Call) -> Any:
        if dim.isdigit():
            return int(dim)
        if dim in call.lengths:
            return call.lengths[dim]
        plain = dim.isidentifier() or dim[0] in "*."
        try:
            return dim if plain else call.value(dim.strip("{}"))
        except NameError:  # of an axis that comes later
            return dim

    def reject(self, name: str, value: Any, call: Call) -> None:
        kind = "integers" if self.integers else "floating-point numbers" if self.floats else ""
        kind = kind or ("booleans" if self.booleans else "numbers")
        noun = "an array" if self.open else NOUNS.get(len(self.dims), "an array")
        allowed = f" ({' or '.join(self.dtypes)})" if self.tensor and len(self.dtypes) < 3 else ""
        lengths = ", ".join(str(self.wanted(dim, call)) for dim in self.dims)
        owners = dict.fromkeys(call.owners.get(dim, name) for dim in self.dims)
        others = ", ".join(f"`{owner}`" for owner in owners if owner != name)
        agree = others and f" to agree with {others}"
        got = described(value)
        if self.tensor and str(value.layout) != "torch.strided":
            got = f"layout {value.layout}. Use .to_dense()"
        raise ValueError(
            f"`{name}` must be {noun} of {kind}{allowed} with shape ({lengths}){agree}, got {got}."
        )


@no_type_check
def _check_finite(name: str, array: Any) -> None:
    if isinstance(array, np.ndarray):
        validation.check_finite(name, array)
    elif not array.isfinite().all():
        validation.check_finite(name, array.detach().cpu().numpy())
