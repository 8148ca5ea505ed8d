"""Checks of arguments by the annotations of the function or dataclass that gets them.

`checked` is written once above a public name. It reads the annotations when the name is first
called, and raises ValueError with a sentence that names the argument, shows what came and says what
is wanted. What an annotation alone does not say stands beside it: `Annotated[int, Range(1)]`, or as
a `need` of the whole call. Nothing is converted: a function gets what its caller gave.
"""

import ast
import builtins
import dataclasses
import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, no_type_check, overload

import numpy as np

if TYPE_CHECKING:
    import torch

Target = TypeVar("Target", bound=Callable[..., Any])


@dataclass(frozen=True)
class Range:
    """Bounds of a number or of each entry of an array or list, allowed values themselves; `below`
    is not. A text is an expression in the arguments of the call: `Range(0, "task.vocabulary - 1")`.
    """

    minimum: float | str | None = None
    maximum: float | str | None = None
    reason: str = ""
    below: float | None = None


@dataclass(frozen=True)
class Between:
    """Bounds of a number that are not allowed values themselves."""

    low: float
    high: float
    reason: str = ""


@dataclass(frozen=True)
class Shape:
    """Axes of what an array of numbers, or of integers, is made of, as jaxtyping writes them.

    Numbers are finite, unless NaN may stand for `gaps`.
    """

    dims: str
    integers: bool = False
    gaps: bool = False


@dataclass(frozen=True)
class Length:
    """The fewest entries of a list."""

    minimum: int = 1


@dataclass(frozen=True)
class Is:
    """A condition that no other annotation says: `wanted` is what follows "must" in the sentence,
    with arguments of the call in braces, and `advice` a sentence at its end.
    """

    test: Callable[[Any], object]
    wanted: str
    advice: str = ""


@dataclass(frozen=True)
class need:
    """A condition on an `argument` beside others, for `checked`: `condition` is an expression in
    arguments, lengths of axes and names of the module, such as "len(seeds) == len(stack)".
    """

    argument: str
    condition: str
    wanted: str
    advice: str = ""


class Shapes:
    """Beside a class of modules: the numbers are not used, and may be on the device meta."""


class Mark(Enum):
    """What an annotation says in a word."""

    SEED = "of a generator of torch"
    DEVICE = "of torch, which this machine has"
    FINITE = "entries of a tensor; those of an array of floats are always looked at"


Size = Annotated[int, Range(1)]
Count = Annotated[int, Range(0)]
Positive = Annotated[float, Between(0, np.inf)]
NotNegative = Annotated[float, Range(0)]
Probability = Annotated[float, Between(0, 1)]
Fraction = Annotated[float, Range(0, below=1)]
Seed = Annotated[int, Mark.SEED]
INCREASING = Is(lambda values: (np.diff(values) > 0).all(), "be increasing")
Device = Annotated["torch.device | str", Mark.DEVICE]
Finite = Mark.FINITE


@overload
def checked(target: Target, /) -> Target: ...
@overload
def checked(*needs: need) -> Callable[[Target], Target]: ...
def checked(*needs: Any) -> Any:
    """Check the arguments of a function, or the fields of a dataclass, by their annotations, before
    each call; `needs` are conditions on several arguments. It stands below `dataclass`.

    At a call an argument that is ruled out raises ValueError. What a record rests on leaves the
    decorator and the annotations out, as nothing that comes through is changed. A call costs about
    a microsecond for each argument; entries of tensors are looked at only for `Range` or `Finite`.

    Examples
    --------
    >>> from typing import Annotated
    >>> from ntpcompanion.checks import Range, checked, need
    >>> @checked(need("high", "low <= high", "be at least `low` = {low}"))
    ... def middle(low: Annotated[int, Range(0)], high: int) -> int:
    ...     return (low + high) // 2
    >>> middle(5, 4)
    Traceback (most recent call last):
    ValueError: `high` must be at least `low` = 5, got 4.
    """
    if len(needs) == 1 and not isinstance(needs[0], need):
        return checked()(needs[0])

    def decorate(target: Any) -> Any:
        return (_with_fields if isinstance(target, type) else _wrapped)(target, needs)

    return decorate


def says_faults(sentences: Callable[[Any, Any], str]) -> Callable[[Target], Target]:
    """Above a model of pydantic: its constructor raises ValueError with what `sentences` makes of a
    ValidationError and the model. Other ways to a model, such as `model_validate`, are as they are.
    """

    def decorate(model: Any) -> Any:
        plain = model.__init__

        @functools.wraps(plain)  # with the mark of pydantic's own, which only constructors call
        def __init__(self: Any, **values: Any) -> None:
            try:
                plain(self, **values)
            except ValueError as error:
                raise ValueError(sentences(error, type(self))) from None

        model.__init__ = __init__
        return model

    return decorate


@no_type_check  # no second check, of the check, while tests run
def _wrapped(function: Callable[..., Any], needs: Sequence[need]) -> Callable[..., Any]:
    @functools.cache
    def read() -> tuple[list[str], dict[str, Any], _Reader]:
        parameters = inspect.signature(function).parameters.values()
        ordered = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return (
            [each.name for each in parameters if each.kind in ordered],
            {each.name: each.default for each in parameters if each.default is not each.empty},
            _Reader(
                {each.name: each.annotation for each in parameters},
                inspect.unwrap(function).__globals__,
                needs,
            ),
        )

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        positions, defaults, reader = read()
        reader.check({**dict(zip(positions, args, strict=False)), **kwargs}, defaults)
        return function(*args, **kwargs)

    return call


@no_type_check
def _with_fields(kind: Any, needs: Sequence[need]) -> Any:
    """A class that will be a dataclass. Its fields are checked after they are set, as pydantic does
    not call `__init__`.
    """
    after = getattr(kind, "__post_init__", None)

    @functools.cache
    def read(kind: Any) -> _Reader:
        named = {each.name: each.type for each in dataclasses.fields(kind)}
        return _Reader(named, vars(sys.modules[kind.__module__]), needs, apart=True)

    def __post_init__(self: Any, *args: Any) -> None:
        reader = read(type(self))
        reader.check({name: getattr(self, name) for name in reader.annotations}, {})
        if after is not None:
            after(self, *args)

    kind.__post_init__ = __post_init__
    return kind


@no_type_check
class _Reader:
    """The tests of arguments, made from their annotations."""

    def __init__(
        self,
        annotations: Mapping[str, Any],
        names: Mapping[str, Any],
        needs: Sequence[need],
        *,
        apart: bool = False,  # fields may be on several devices
    ) -> None:
        # most programs call few functions, and what checks imports this module
        from ntpcompanion.annotation_checks import Call, check_one_device, make_test, reject

        self.annotations, self.apart, self.names = annotations, apart, names
        self.needs = [(each, *_compiled(each.condition, annotations, names)) for each in needs]
        self.call, self.reject = Call, reject
        names = {**names, "torch": sys.modules.get("torch")}
        read = {name: _evaluated(each, names) for name, each in annotations.items()}
        bounds = " ".join(map(_bounds, read.values()))  # the arguments that they name come first
        ordered = sorted(read, key=lambda name: not re.search(rf"\b{name}\b", bounds))
        tests = {name: make_test(read[name]) for name in ordered}
        if "self" in tests:
            tests["self"] = check_one_device  # of a module
        self.tests = {name: test for name, test in tests.items() if test}

    def check(self, named: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        """Raise ValueError for one of the named arguments that is ruled out."""
        call = self.call({**defaults, **named})
        for name, test in self.tests.items():
            if self.apart:
                call.home = None
            if name in named:
                test(name, named[name], call)
        values = {**call.lengths, **call.named}
        for one, condition, asked in self.needs:
            if asked <= values.keys() and not eval(condition, {**self.names, **values}):
                self.reject(one.argument, call.named[one.argument], one, call)


def _compiled(
    condition: str, annotations: Mapping[str, Any], names: Mapping[str, Any]
) -> tuple[types.CodeType, set[str]]:
    """A condition, and the arguments and lengths of axes that it asks for."""
    tree = ast.parse(condition, mode="eval")
    used = {(each.id, type(each.ctx)) for each in ast.walk(tree) if isinstance(each, ast.Name)}
    asked = {
        name
        for name, context in used
        if name in annotations
        or not (name in names or hasattr(builtins, name) or (name, ast.Store) in used)
    }
    return compile(tree, "<need>", "eval"), asked


@no_type_check
def _bounds(annotation: Any) -> str:
    ranges = [mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, Range)]
    return " ".join(f"{each.minimum} {each.maximum}" for each in ranges)


@no_type_check
def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    if annotation is inspect.Parameter.empty:
        return Any
    if isinstance(annotation, str):
        try:
            return eval(annotation, names)
        except (NameError, AttributeError):  # of a type checker only
            return Any
    return annotation
