"""What a long search tells its caller between rounds, and when it has to end."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Round:
    """A round after which a search goes on, as a `callback` sees it: its `number` from 1,
    `iterations` so far in the unit of the solver's `max_iterations`, and `seconds` since the search
    began. `gap` is the distance from a proof in the unit of the `gap` that the solver returns,
    infinite before it is known.
    """

    number: int
    iterations: int
    seconds: float
    gap: float


class OutOfTimeError(Exception):
    """The time limit of a search has passed; solvers then return the verdict UNDECIDED."""


class Progress:
    """The clock of one search: `callback` is called with a `Round` after each round, and
    `time_limit` is in seconds, None for no limit.
    """

    def __init__(
        self, time_limit: float | None = None, callback: Callable[[Round], object] | None = None
    ) -> None:
        self.callback, self.rounds, self.begin = callback, 0, time.monotonic()
        self.end = self.begin + (np.inf if time_limit is None else time_limit)

    def tick(self) -> None:
        """Raise OutOfTimeError if the time is spent."""
        if time.monotonic() > self.end:
            raise OutOfTimeError

    def report(self, iterations: int, gap: float) -> None:
        """A round has ended: tell the callback, then `tick`."""
        self.rounds += 1
        if self.callback is not None:
            seconds = time.monotonic() - self.begin
            self.callback(Round(self.rounds, iterations, seconds, float(gap)))
        self.tick()


def no_tick() -> None:
    """Do nothing: in place of `Progress.tick` in a search without a time limit."""
