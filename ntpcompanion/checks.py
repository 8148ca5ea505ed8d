"""Checks of arguments by the annotations of the function or dataclass that gets them.

`checked` is written once above a public name. It reads the annotations when the name is first
called, and raises ValueError with a sentence that names the argument, shows what came and says what
is wanted. What an annotation alone does not say stands beside it: `Annotated[int, Range(1)]`, or as
a `need` of the whole call. Nothing is converted: a function gets what its caller gave.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, TypeVar, no_type_check, overload

import numpy as np

Target = TypeVar("Target", bound=Callable[..., Any])


@dataclass(frozen=True)
class Range:
    """Bounds of a number, or of each entry of an array or list; both are allowed values.

    A text is an expression in the arguments of the call: `Range(0, "task.vocabulary - 1")`.
    """

    minimum: float | str | None = None
    maximum: float | str | None = None
    reason: str = ""


@dataclass(frozen=True)
class Between:
    """Bounds of a number that are not allowed values themselves."""

    low: float
    high: float
    reason: str = ""


@dataclass(frozen=True)
class Length:
    """The fewest entries of a list."""

    minimum: int = 1


@dataclass(frozen=True)
class Is:
    """A condition that no other annotation says.

    Fields
    ------
    test
        of the value; true where it holds.
    wanted
        what follows "must" in the sentence, with arguments of the call in braces.
    advice
        a sentence at the end.
    """

    test: Callable[[Any], object]
    wanted: str
    advice: str = ""


@dataclass(frozen=True)
class need:
    """A condition on an argument beside others, for `checked`.

    Fields
    ------
    argument
        the one that is named in the sentence.
    test
        of arguments, which it names as its own; true where it holds.
    wanted, advice
        as of `Is`.
    """

    argument: str
    test: Callable[..., object]
    wanted: str
    advice: str = ""


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
Seed = Annotated[int, Mark.SEED]
Device = Annotated[Any, Mark.DEVICE]
Finite = Mark.FINITE


@overload
def checked(target: Target, /) -> Target: ...
@overload
def checked(*needs: need) -> Callable[[Target], Target]: ...
def checked(*needs: Any) -> Any:
    """Check the arguments of a function, or the fields of a dataclass, by their annotations.

    Parameters
    ----------
    needs
        conditions on several arguments. Without any, the decorator is written without brackets.

    Returns
    -------
    Callable
        what was decorated, with the check before each call.

    Raises
    ------
    ValueError
        at a call: an argument that its annotation or a need rules out.

    Notes
    -----
    What a record rests on leaves the decorator out, and the annotations, as nothing that comes
    through is changed. A call costs about a microsecond for each argument; entries of tensors are
    looked at only where `Range` or `Finite` asks for it.

    Examples
    --------
    >>> from typing import Annotated
    >>> from ntpcompanion.checks import Range, checked, need
    >>> @checked(need("most", lambda least, most: least <= most, "be at least `least` = {least}"))
    ... def middle(least: Annotated[int, Range(0)], most: int) -> int:
    ...     return (least + most) // 2
    >>> middle(1, 4)
    2
    >>> middle(5, 4)
    Traceback (most recent call last):
    ValueError: `most` must be at least `least` = 5, got 4.
    """
    if len(needs) == 1 and not isinstance(needs[0], need):
        return checked()(needs[0])

    def decorate(target: Any) -> Any:
        if isinstance(target, type):
            target.__init__ = _wrapped(target.__init__, needs)  # type: ignore[misc]  # its own
            return target
        return _wrapped(target, needs)

    return decorate


@no_type_check  # no second check, of the check, while tests run
def _wrapped(function: Callable[..., Any], needs: Sequence[need]) -> Callable[..., Any]:
    read = functools.cache(lambda: _Signature(function, needs))

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        read()(args, kwargs)
        return function(*args, **kwargs)

    return call


@no_type_check
class _Signature:
    """The tests of one function, made from its annotations."""

    def __init__(self, function: Any, needs: Sequence[need]) -> None:
        # most programs call few functions, and what checks imports this module
        from ntpcompanion.annotation_checks import Call, check_device, make_test, reject

        self.call, self.reject = Call, reject
        names = {**function.__globals__, "torch": sys.modules.get("torch")}
        parameters = inspect.signature(function).parameters.values()
        ordered = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self.positions = [each.name for each in parameters if each.kind in ordered]
        self.defaults = {
            each.name: each.default for each in parameters if each.default is not each.empty
        }
        self.tests = {
            each.name: check_device if number == 0 and each.name == "self" else test
            for number, each in enumerate(parameters)
            if (test := make_test(_evaluated(each.annotation, names))) or each.name == "self"
        }
        self.needs = [
            (one, one.test.__code__.co_varnames[: one.test.__code__.co_argcount]) for one in needs
        ]

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        named = dict(zip(self.positions, args, strict=False))
        named.update(kwargs)
        call = self.call({**self.defaults, **named})
        for name, test in self.tests.items():
            if name in named:
                test(name, named[name], call)
        for one, names in self.needs:
            if all(name in call.named for name in names) and not one.test(
                *(call.named[name] for name in names)
            ):
                self.reject(one.argument, call.named[one.argument], one, call)


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
