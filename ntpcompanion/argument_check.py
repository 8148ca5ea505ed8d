"""The mark of functions that only look at arguments."""

from collections.abc import Callable
from typing import ParamSpec

Parameters = ParamSpec("Parameters")


def argument_check(function: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Mark a function that raises for arguments that cannot be used, and does nothing else.

    A run that was made has passed its checks, so that one more, one less or a better sentence
    leaves its numbers: what a record rests on leaves out calls of such functions, where nothing
    could catch what they raise. Only what can be seen to be pure is left out: a function that
    returns nothing, assigns to nothing but its own variables, goes through nothing that it was
    given as an iterator, and calls nothing but builtins, functions and methods that only look, and
    functions of its packages for which the same holds.

    Parameters
    ----------
    function
        takes arguments and returns nothing.

    Returns
    -------
    Callable
        the function itself.
    """
    return function
