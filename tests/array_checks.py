"""Types and shapes of arrays, checked while tests run: `pyproject.toml` gives jaxtyping the name of
`checked`, for the functions of the package.
"""

import functools
from collections.abc import Callable
from typing import Any

from beartype import BeartypeConf, beartype
from jaxtyping import config

CALLS = 1000  # that are checked in one test, and in the fixtures that it makes

_check = beartype(conf=BeartypeConf(is_pep484_tower=True))


class Checks:
    """Checks the first calls of each test. Those that follow are of the same functions in the loop
    of a solver, for which the checks take as long as the mathematics.
    """

    def __init__(self) -> None:
        self.left = 0

    def start(self) -> None:
        """A test begins."""
        self.left = CALLS
        config.update("jaxtyping_disable", False)

    def checked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that jaxtyping has made to be called with what a function is given, and what
        it returns. Its checks are made for its first call: most tests call few functions.
        """
        checking = functools.cache(lambda: _check(function))

        @functools.wraps(function)
        def spend(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                config.update("jaxtyping_disable", True)
            return checking()(*args, **kwargs)

        return spend


checks = Checks()
checked = checks.checked
