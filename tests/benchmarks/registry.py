"""The benchmarks by name, and how they take turns."""

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ntpcompanion.workflow.timing.bench import Amount, Growth, Outcome, Pair

# each is a file of this folder; a benchmark is named `FILE.FUNCTION`
FILES = (
    *("machine", "linear", "geometry", "languages", "flatness", "training"),
    *("workflow", "chapters"),
)
BUDGET, MOST = 5.0, 21  # seconds for the turns of a pair; turns at most


@dataclass(frozen=True)
class Benchmark:
    """What is timed.

    Fields
    ------
    name, title, part
        of the entry; the part is the heading on the page.
    threads
        of the numerical libraries.
    busy
        whether it is also run beside busy processes.
    listed
        whether a run of all holds it; the others are run by name only.
    run
        gives the outcome, in a process of its own.
    """

    name: str
    title: str
    part: str
    threads: int
    busy: bool
    listed: bool
    run: Callable[[], Outcome]


def benchmark(
    title: str, part: str, *, threads: int = 1, busy: bool = True, listed: bool = True
) -> Callable[[Callable[[], Outcome]], Benchmark]:
    """Make a function a benchmark."""

    def made(function: Callable[[], Outcome]) -> Benchmark:
        file = function.__module__.rpartition(".")[2]
        name = f"{file}.{function.__name__}"
        return Benchmark(name, title, part, threads, busy, listed, function)

    return made


def benchmarks(file: str) -> dict[str, Benchmark]:
    """Those of a file, by name, in its order."""
    module = importlib.import_module(f"tests.benchmarks.{file}")
    found = [each for each in vars(module).values() if isinstance(each, Benchmark)]
    return {each.name: each for each in found}


def all_benchmarks() -> dict[str, Benchmark]:
    """Those of all files."""
    return {name: each for file in FILES for name, each in benchmarks(file).items()}


def clocked(run: Callable[[], Any]) -> float:
    """Seconds of the wall clock."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def turns(
    *runs: Callable[[], Any], budget: float = BUDGET, least: int = 3, most: int = MOST
) -> list[list[float]]:
    """Seconds of each, in turns, so that a busy machine is busy for all: one list for each run.

    A first turn fills caches and imports what is imported late; it counts only if it alone takes
    the whole budget.
    """
    found: list[list[float]] = []
    began = time.perf_counter()
    while len(found) <= most and (len(found) <= least or time.perf_counter() - began < budget):
        order = range(len(runs)) if len(found) % 2 else reversed(range(len(runs)))
        took = {i: clocked(runs[i]) for i in order}
        found.append([took[i] for i in range(len(runs))])
        if len(found) == least and time.perf_counter() - began >= budget * least:
            break
    counted = found[1:] if len(found) > least else found
    return [list(each) for each in zip(*counted, strict=True)]


def pair(
    ours: tuple[str, Callable[[], Any]],
    peer: tuple[str, Callable[[], Any]],
    *,
    at_least: float | None = None,
    note: str = "",
    budget: float = BUDGET,
    least: int = 3,
    times: float = 1.0,
) -> Pair:
    """A pair from the names of both and what they run; the peer does 1 / `times` of the work."""
    mine, theirs = turns(ours[1], peer[1], budget=budget, least=least)
    scaled = [times * seconds for seconds in theirs]
    return Pair(
        ours=ours[0],
        peer=peer[0],
        our_seconds=mine,
        peer_seconds=scaled,
        at_least=at_least,
        note=note,
    )


def growth(
    variable: str,
    sizes: list[int],
    prepared: Callable[[int], Callable[[], Any]],
    *,
    ideal: float | None = None,
    note: str = "",
    budget: float = BUDGET,
) -> Growth:
    """Seconds of what `prepared` returns for each size, the sizes in turns."""
    runs = [prepared(size) for size in sizes]
    seconds = turns(*runs, budget=budget, most=9)
    return Growth(
        variable=variable, sizes=[*map(float, sizes)], seconds=seconds, ideal=ideal, note=note
    )


def amount(
    unit: str,
    values: list[float],
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    note: str = "",
) -> Amount:
    """An amount, with its goal."""
    return Amount(unit=unit, values=values, at_most=at_most, at_least=at_least, note=note)
