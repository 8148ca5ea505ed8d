"""How benchmarks are timed: rounds in turn with a named peer, growth with size, amounts.

pytest-benchmark times ours in rounds; before each of them the peer runs once. So a busy machine is
busy for both, and the ratio of a round is one of the same minute.
"""

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import pytest

BUDGET, MOST = 5.0, 21  # seconds for the rounds of a benchmark; rounds at most


def about(
    title: str, part: str, *, threads: int = 1, busy: bool = True, listed: bool = True
) -> pytest.MarkDecorator:
    """What a benchmark is called on the page *Speed* and under which heading, the threads of torch,
    whether it is run beside busy processes too, and without `--unlisted`.
    """
    return pytest.mark.about(title=title, part=part, threads=threads, busy=busy, listed=listed)


def clocked(run: Callable[[], Any]) -> float:
    """Seconds of the wall clock."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def turns(*runs: Callable[[], Any], budget: float = BUDGET, least: int = 3) -> list[list[float]]:
    """Seconds of each, in turns, as many as the budget allows: one list for each run."""
    count = rounds(runs, budget, least)
    return [list(each) for each in zip(*([*map(clocked, runs)] for _ in range(count)), strict=True)]


def rounds(
    runs: Sequence[Callable[[], Any]], budget: float = BUDGET, least: int = 3, most: int = MOST
) -> int:
    """How many rounds a budget allows: all run once, and once more if that took little of it, as
    the first fills caches.
    """
    took = sum(map(clocked, runs))
    if took < budget / 4:
        took = min(took, sum(map(clocked, runs)))
    return max(least, min(most, int(budget / max(took, 1e-9))))


class Timing:
    """The fixture `timing` of a benchmark, which calls one of its methods once: `outcome` is what
    the file of the run keeps.
    """

    def __init__(self, clock: Callable[[], Any]) -> None:
        self.clock = clock  # gives the fixture `benchmark` of pytest-benchmark
        self.outcome: dict[str, Any] = {}

    def pair(
        self,
        ours: tuple[str, Callable[[], Any]],
        peer: tuple[str, Callable[[], Any]],
        *,
        times: float = 1.0,
        budget: float = BUDGET,
        least: int = 3,
        **said: Any,
    ) -> None:
        """Both by their names and what they run; the peer does 1 / `times` of the work."""
        count = rounds([ours[1], peer[1]], budget, least)
        mine, theirs = self._in_turn(ours[1], lambda: times * clocked(peer[1]), count)
        self.paired(ours=ours[0], peer=peer[0], our_seconds=mine, peer_seconds=theirs, **said)

    def paired(
        self,
        *,
        ours: str,
        peer: str,
        our_seconds: Sequence[float],
        peer_seconds: Sequence[float],
        at_least: float | None = None,
        note: str = "",
    ) -> None:
        """Seconds of both, round by round; `at_least` is the goal for the median ratio of the
        peer's to ours.
        """
        self.outcome = {
            "kind": "pair", "ours": ours, "peer": peer, "our_seconds": [*our_seconds],
            "peer_seconds": [*peer_seconds], "at_least": at_least, "note": note,
        }  # fmt: skip
        ratio = median(b / a for a, b in zip(our_seconds, peer_seconds, strict=True))
        assert at_least is None or ratio >= at_least, f"{ratio:.3g} times as fast as {peer}"

    def growth(
        self,
        variable: str,
        sizes: Sequence[int],
        prepared: Callable[[int], Callable[[], Any]],
        *,
        ideal: float | None = None,
        note: str = "",
    ) -> None:
        """Seconds of what `prepared` returns for each size, the sizes in turns; `ideal` is the
        exponent that would be hoped for.
        """
        *runs, last = map(prepared, sizes)
        count = rounds([*runs, last], most=9)
        largest, smaller = self._in_turn(last, lambda: [*map(clocked, runs)], count)
        seconds = [*map(list, zip(*smaller, strict=True)), largest]
        self.outcome = {
            "kind": "growth", "variable": variable, "sizes": [*map(float, sizes)],
            "seconds": seconds, "ideal": ideal, "note": note,
        }  # fmt: skip

    def amount(
        self,
        unit: str,
        values: Sequence[float],
        *,
        at_most: float | None = None,
        at_least: float | None = None,
        note: str = "",
    ) -> None:
        """A number with its unit, measured several times, and the goal for its median."""
        self.outcome = {
            "kind": "amount", "unit": unit, "values": [*values], "at_most": at_most,
            "at_least": at_least, "note": note,
        }  # fmt: skip
        value = median(values)
        assert at_most is None or value <= at_most, f"{value:.3g} {unit}"
        assert at_least is None or value >= at_least, f"{value:.3g} {unit}"

    def _in_turn(
        self, run: Callable[[], Any], before: Callable[[], Any], count: int
    ) -> tuple[list[float], list[Any]]:
        """Seconds of so many rounds, and what was returned by what ran before each of them."""
        found: list[Any] = []
        clock = self.clock()
        clock.pedantic(run, setup=lambda: found.append(before()), rounds=count)
        return list(clock.stats.stats.data), found
