"""Types and shapes of arrays are checked under pytest: in the first calls of each test, as an inner
loop makes millions of them, all alike.
"""

import functools

from beartype import BeartypeConf, beartype
from jaxtyping import config

MOST = 5_000  # of a test; about half a second
CONF = BeartypeConf(is_pep484_tower=True)


class Checks:
    """Counts the checks of a test, and ends them when there are enough.

    Fields
    ------
    made
        since the test began; a call whose result is annotated has two.
    off
        whether a test wants none.
    """

    def __init__(self):
        self.made, self.off = 0, config.jaxtyping_disable

    def begin(self):
        """From now on calls are checked, unless the test wants none."""
        self.made = 0
        config.update("jaxtyping_disable", self.off)

    def count(self):
        self.made += 1
        if self.made >= MOST:
            config.update("jaxtyping_disable", True)


CHECKS = Checks()


def checked(function):
    """The function with its arguments and result checked by beartype, and counted."""
    check = beartype(conf=CONF)(function)

    @functools.wraps(check)
    def counted(*arguments, **options):
        CHECKS.count()
        return check(*arguments, **options)

    return counted
