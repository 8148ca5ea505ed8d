"""One run of the benchmarks on one machine: sealed JSON in `book/records/bench`, made by
`make bench`.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ntpcompanion.workflow.base.files import read_sealed, write_sealed
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import Hardware
from ntpcompanion.workflow.base.shapes import shaped
from ntpcompanion.workflow.timing.medians import Estimate, exponent, median

SCHEMA = 1
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Timings = Annotated[list[Seconds], Field(min_length=1)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Pair(_Kept):
    """`ours` against a named `peer`, in turns: seconds of either, turn by turn.

    `at_least` is the goal for the ratio, the peer's seconds over ours; None where there is none.
    `note` says what a reader must know of the comparison.
    """

    kind: Literal["pair"] = "pair"
    ours: str
    peer: str
    our_seconds: Timings
    peer_seconds: Timings
    at_least: Seconds | None = None
    note: str = ""

    @model_validator(mode="after")
    def _same_turns(self) -> "Pair":
        if len(self.our_seconds) != len(self.peer_seconds):
            raise ValueError(
                f"a turn has seconds of both: {len(self.our_seconds)} of ours, "
                f"{len(self.peer_seconds)} of the peer"
            )
        return self

    @property
    def ratio(self) -> Estimate:
        """The median over turns of the peer's seconds over ours: above 1, ours is faster."""
        turns = zip(self.peer_seconds, self.our_seconds, strict=True)
        return median([peer / ours for peer, ours in turns])

    @property
    def met(self) -> bool | None:
        """Whether the median ratio reaches the goal; None without one."""
        return None if self.at_least is None else self.ratio.value >= self.at_least


class Growth(_Kept):
    """Seconds at growing values of one `variable`, several timings for each. `ideal` is the
    exponent that would be hoped for, if theory names one.
    """

    kind: Literal["growth"] = "growth"
    variable: str
    sizes: Annotated[list[Seconds], Field(min_length=3)]
    seconds: Annotated[list[Timings], Field(min_length=3)]
    ideal: Number | None = None
    note: str = ""

    @model_validator(mode="after")
    def _timed(self) -> "Growth":
        if len(self.sizes) != len(self.seconds) or len(set(self.sizes)) < len(self.sizes):
            raise ValueError(
                f"each size stands once and has its seconds: {len(self.sizes)} sizes, "
                f"{len(self.seconds)} lists of seconds"
            )
        return self

    @property
    def medians(self) -> list[float]:
        """The median seconds at each size."""
        return [median(each).value for each in self.seconds]

    @property
    def slope(self) -> Estimate:
        """The fitted exponent."""
        return exponent(self.sizes, self.medians)


class Amount(_Kept):
    """A number with its unit, measured several times: seconds, memory, a limit of the machine.
    The goal is `at_most` or `at_least`, if there is one.
    """

    kind: Literal["amount"] = "amount"
    unit: str
    values: Annotated[list[Number], Field(min_length=1)]
    at_most: Number | None = None
    at_least: Number | None = None
    note: str = ""

    @property
    def middle(self) -> Estimate:
        """The median with its interval."""
        return median(self.values)

    @property
    def met(self) -> bool | None:
        """Whether the median keeps to the goal; None without one."""
        if self.at_most is None and self.at_least is None:
            return None
        value = self.middle.value
        above = self.at_least is None or value >= self.at_least
        return above and (self.at_most is None or value <= self.at_most)


class Failed(_Kept):
    """A benchmark that gave no number, and why."""

    kind: Literal["failed"] = "failed"
    error: str


Outcome = Annotated[Pair | Growth | Amount | Failed, Field(discriminator="kind")]


class Entry(_Kept):
    """One benchmark, run once: what it timed at which commit, with how many threads beside how many
    busy processes, and the load of the machine before and after (the mean of a minute).
    """

    name: str
    title: str
    part: str
    commit: str
    threads: Annotated[int, Field(ge=1)]
    busy: Annotated[int, Field(ge=0)] = 0
    load: Annotated[list[Number], Field(min_length=2, max_length=2)]
    took: Seconds
    outcome: Outcome

    @property
    def met(self) -> bool | None:
        """Whether it keeps to its goal; None where there is none."""
        return self.outcome.met if isinstance(self.outcome, Pair | Amount) else None


class Machine(_Kept):
    """As `base.provenance.Hardware`; `gpu` is empty where there is none."""

    system: str
    machine: str
    processor: str
    cores: Annotated[int, Field(ge=1)]
    memory_gib: Annotated[int, Field(ge=0)]
    gpu: str = ""

    @property
    def line(self) -> str:
        """Processor, cores and memory in a few words."""
        gpu = f", {self.gpu}" if self.gpu else ""
        return f"{self.processor}, {self.cores} cores, {self.memory_gib} GiB{gpu}"


class Bench(_Kept):
    """One run of the benchmarks."""

    # models of pydantic have a method `schema`
    number: Annotated[Literal[1], Field(alias="schema")]
    started: str
    finished: str
    hardware: Machine
    versions: dict[str, str]
    entries: list[Entry]
    checksum: str = ""

    @model_validator(mode="after")
    def _once(self) -> "Bench":
        keys = [(entry.name, entry.busy) for entry in self.entries]
        twice = sorted({f"{key[0]} (busy: {key[1]})" for key in keys if keys.count(key) > 1})
        if twice:
            raise ValueError(f"listed twice: {', '.join(twice)}")
        return self

    @property
    def commits(self) -> list[str]:
        """The commits of its entries, each once: several, if some were run again."""
        return list(dict.fromkeys(entry.commit for entry in self.entries))

    def quiet(self) -> list[Entry]:
        """The entries without busy processes beside them."""
        return [entry for entry in self.entries if not entry.busy]

    def beside(self, entry: Entry) -> Entry | None:
        """The same benchmark beside busy processes, if it was run so."""
        matching = [other for other in self.entries if other.busy and other.name == entry.name]
        return matching[0] if matching else None


def folder(project: Project) -> Path:
    """Where the runs are kept."""
    return project.records / "bench"


def file_name(started: str, machine: Machine) -> str:
    """`2026-11-23-intel-xeon-processor-2-cores.json`."""
    words = f"{machine.processor} {machine.cores} cores"
    return f"{started[:10]}-{re.sub(r'[^a-z0-9]+', '-', words.lower()).strip('-')}.json"


def read_bench(path: Path) -> Bench:
    """A stored run. Raises WorkflowError naming the file and what is wrong with it."""
    data = read_sealed(path)
    advice = (
        f"{path} is not a run of the benchmarks of schema {SCHEMA}: make it again with `make bench`"
    )
    return _bench(data, advice)


def read_benches(project: Project) -> list[Bench]:
    """The newest run of each machine, the newest machine first. Raises WorkflowError as
    `read_bench`.
    """
    runs = [read_bench(path) for path in sorted(folder(project).glob("*.json"))]
    newest = {run.hardware.line: run for run in sorted(runs, key=lambda run: run.started)}
    return sorted(newest.values(), key=lambda run: run.started, reverse=True)


def write_bench(path: Path, bench: Bench) -> None:
    """Write a run, sealed by its checksum. Raises WorkflowError if it cannot be written."""
    write_sealed(path, bench.model_dump(by_alias=True, exclude={"checksum"}))


def bench_of(
    started: str,
    finished: str,
    hardware: Hardware,
    versions: dict[str, str],
    entries: Sequence[Entry],
) -> Bench:
    """A run from its parts. Raises WorkflowError for a benchmark that is there twice."""
    head = {"schema": SCHEMA, "started": started, "finished": finished}
    rows = [entry.model_dump() for entry in entries]
    data = {**head, "hardware": hardware, "versions": versions, "entries": rows}
    return _bench(data, "The run of the benchmarks")


def _bench(data: dict[str, Any], where: str) -> Bench:
    bench: Bench = shaped(data, Bench, where)
    return bench
