"""The code of the checkout against that of another commit: workloads by both, in turns."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.processes import end_tree
from ntpcompanion.workflow.base.project import ONE_THREAD, Project
from ntpcompanion.workflow.timing import turns
from ntpcompanion.workflow.timing.medians import Estimate, median
from ntpcompanion.workflow.timing.trees import commit_named, tree, tree_path
from ntpcompanion.workflow.timing.workloads import Workload, Workloads, read_workloads

TURNS = 21
# A smaller ratio is not news: another layout of the same code in memory gives some per cent.
SLOWER = 1.2
# How often all workloads together raise an alarm where the true ratio is SLOWER.
FALSE_ALARMS = 0.001
ENOUGH, MOST = 0.05, 10_000  # seconds of a turn, which repeats what takes less; repetitions at most
Verdict = Literal["slower", "faster", "the same", "new", "failed"]
BAD: tuple[Verdict, ...] = ("slower", "failed")


@runtime_checkable
class Side(Protocol):
    """One of the two: prepares workloads and times them."""

    def prepare(self, name: str, workload: Workload) -> str:
        """What went wrong; empty if nothing did."""

    def seconds(self, name: str, number: int) -> float:
        """Of so many runs of a prepared workload."""


@dataclass(frozen=True)
class Compared:
    """One workload.

    Fields
    ------
    name, about
        as its file says.
    verdict
        "slower" if the whole interval of the ratio lies above SLOWER, "faster" if below its
        inverse; "new" if it does not run with the other code, "failed" if it does not with ours.
    ratio
        the median over turns of our seconds over theirs; None where there are none.
    seconds, error
        the median of ours for one run of the statement; of a workload that does not run, 0 and what
        it raised.
    """

    name: str
    about: str
    verdict: Verdict
    ratio: Estimate | None = None
    seconds: float = 0.0
    error: str = ""


@dataclass(frozen=True)
class Duel:
    """All workloads, against `commit`."""

    commit: str
    found: tuple[Compared, ...]


def compare_sides(workloads: Workloads, ours: Side, theirs: Side) -> list[Compared]:
    """Time every workload with both, in turns, the first of each turn in turns, too.

    A turn repeats what takes less than `ENOUGH` seconds, equally often with both. The intervals of
    the medians hold together: where no true ratio exceeds `SLOWER`, an alarm is raised at most once
    in 1 / `FALSE_ALARMS` comparisons, whatever the distribution of the timings.
    """
    confidence = 1 - 2 * FALSE_ALARMS / len(workloads)
    return [_compared(name, each, ours, theirs, confidence) for name, each in workloads.items()]


def _compared(
    name: str, workload: Workload, ours: Side, theirs: Side, confidence: float
) -> Compared:
    if error := ours.prepare(name, workload):
        return Compared(name, workload.about, "failed", error=error)
    if error := theirs.prepare(name, workload):
        return Compared(name, workload.about, "new", error=error)
    once = ours.seconds(name, 1)
    number = min(MOST, max(1, round(ENOUGH / once))) if once > 0 else MOST
    pairs = []
    for turn in range(TURNS):
        sides = (ours, theirs) if turn % 2 else (theirs, ours)
        took = {side is ours: side.seconds(name, number) for side in sides}
        pairs.append((took[True], took[False]))
    # a clock that did not move says nothing
    ratio = median([(a or 1e-9) / (b or 1e-9) for a, b in pairs], confidence)
    seconds = median([a for a, _ in pairs]).value / number
    return Compared(name, workload.about, _verdict(ratio), ratio, seconds)


def _verdict(ratio: Estimate) -> Verdict:
    if ratio.low > SLOWER:
        return "slower"
    return "faster" if ratio.high < 1 / SLOWER else "the same"


class Process:
    """A side that is a process of its own, `turns.py` with the code below `root`."""

    def __init__(self, program: "subprocess.Popen[str]", package: str, root: Path) -> None:
        self.program, self.package, self.root = program, package, root

    def prepare(self, name: str, workload: Workload) -> str:
        """As `Side`. Raises WorkflowError if the package is not that of this side."""
        code = {"setup": workload.setup, "statement": workload.statement}
        answer = self._ask({"do": "prepare", "name": name, **code, "package": self.package})
        file = answer.get("file")
        if file and not Path(file).is_relative_to(self.root):
            raise WorkflowError(
                f"The workload {name!r} imported {file} instead of {self.package} in {self.root}: "
                "both sides would run the same code. Install the book as an editable checkout, or "
                "leave it out of the environment."
            )
        return str(answer.get("error", ""))

    def seconds(self, name: str, number: int) -> float:
        """As `Side`. Raises WorkflowError if the workload fails now, though it ran before."""
        answer = self._ask({"do": "time", "name": name, "number": number})
        if "error" in answer:
            raise WorkflowError(f"The workload {name!r} ran once, but not again: {answer['error']}")
        return float(answer["seconds"])

    def _ask(self, request: Mapping[str, object]) -> dict[str, Any]:
        assert self.program.stdin
        assert self.program.stdout
        try:
            print(json.dumps(request), file=self.program.stdin, flush=True)
            return dict(json.loads(self.program.stdout.readline()))
        except (OSError, ValueError) as error:
            raise WorkflowError(
                f"The process that ran the workload {request['name']!r} with the code in "
                f"{self.root} has ended. Run its `setup` and `statement` by hand."
            ) from error


@contextlib.contextmanager
def side(project: Project, root: Path, clock: str = turns.CLOCK) -> Iterator[Process]:
    """The code below `root` in a process of one thread, as long as the block runs."""
    environment = {
        **os.environ, **ONE_THREAD, "PYTHONPATH": tree_path(project, root), "PYTHONHASHSEED": "0",
    }  # fmt: skip
    command = [sys.executable, "-P", str(Path(turns.__file__).resolve()), clock]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        env=environment,
        cwd=root,
    ) as program:
        try:
            yield Process(program, project.package.name, root)
        finally:
            end_tree(program)


def duel(project: Project, revision: str, clock: str = turns.CLOCK) -> Duel:
    """The workloads by the code of the checkout, as it lies there, and by that of a revision of
    git. Raises WorkflowError if there are none, or git does not know the revision.
    """
    workloads, commit = read_workloads(project), commit_named(project, revision)
    with (
        tree(project, commit) as other,
        side(project, project.root, clock) as ours,
        side(project, other.resolve(), clock) as theirs,
    ):
        return Duel(commit, tuple(compare_sides(workloads, ours, theirs)))


def duel_json(comparison: Duel) -> str:
    """As JSON, for programs."""
    data = {"commit": comparison.commit, "slower_than": SLOWER, "turns": TURNS}
    rows = [asdict(each) for each in comparison.found]
    return json.dumps({**data, "workloads": rows}, indent=1, ensure_ascii=False) + "\n"


def duel_rows(comparison: Duel) -> list[list[str]]:
    """Head and rows of a table for people."""
    rows = [["Workload", "Seconds", "Times as long as before", "Verdict"]]
    for each in comparison.found:
        ratio = "–"
        if each.ratio:
            ratio = f"{each.ratio.value:.2f} ({each.ratio.low:.2f} to {each.ratio.high:.2f})"
        verdict = f"{each.verdict}: {each.error}" if each.error else each.verdict
        seconds = f"{each.seconds:.3g}" if each.seconds else "–"
        rows.append([each.name, seconds, ratio, verdict])
    return rows


def duel_markdown(comparison: Duel) -> str:
    """The table as Markdown."""
    head, *rows = duel_rows(comparison)
    lines = [head, ["---"] * len(head), *rows]
    table = "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in lines)
    return f"### Speed against {comparison.commit[:12]}\n\n{table}\n"
