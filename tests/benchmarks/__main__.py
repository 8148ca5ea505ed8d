"""`make bench`: time the benchmarks and write `book/records/bench/DATE-MACHINE.json`.

`python -m tests.benchmarks [NAME ...]`: those named, or all that are listed; a name may be that of
a file, such as `linear`. Each runs in a process of its own within a time limit; one that fails is
kept as failed, with its error, and the others go on. What is finished is kept below `_build/bench`:
the same command goes on where one was interrupted, if the commit is the same. The exit code is 1
if a benchmark failed, or missed its goal without busy processes beside it.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import read_json, write_atomically
from ntpcompanion.workflow.base.processes import run
from ntpcompanion.workflow.base.project import ONE_THREAD, Project
from ntpcompanion.workflow.base.provenance import hardware, now, versions
from ntpcompanion.workflow.running.history import present_commit
from ntpcompanion.workflow.timing.bench import (
    Bench,
    Entry,
    Failed,
    Outcome,
    bench_of,
    file_name,
    folder,
    read_bench,
    write_bench,
)
from ntpcompanion.workflow.timing.medians import median
from tests.benchmarks.registry import FILES, Benchmark, all_benchmarks, benchmarks
from tests.portable import busy_processes

BUSY, LIMIT = 4, 120.0  # processes that keep a core busy; seconds of a benchmark on a quiet machine
SHOWN = 400  # characters of an error
PEERS = ("torch-struct", "hmmlearn", "curvlinops-for-pytorch", "transformers", "piqp", "papermill")


def outcome_of(name: str, threads: int, limit: float, folder: Path) -> Outcome:
    """What a benchmark found in a process of its own; `Failed` with the last line that it said."""
    command = [sys.executable, "-m", "tests.benchmarks.once", name]
    environment = {**os.environ, **dict.fromkeys(ONE_THREAD, str(threads)), "PYTHONWARNINGS": ""}
    try:
        ended = run(command, environment=environment, folder=folder, limit=limit)
    except TimeoutError:
        return Failed(error=f"stopped after {limit:.0f} s")
    if ended.code:
        lines = (ended.errors.strip() or ended.output.strip() or "nothing said").splitlines()
        return Failed(error=f"exit code {ended.code}: {lines[-1][:SHOWN]}")
    last = (ended.output.strip().splitlines() or [""])[-1]
    try:
        found: Outcome = TypeAdapter(Outcome).validate_json(last)
    except ValueError:
        return Failed(error=f"the last line of its output is not an outcome: {last[:SHOWN]}")
    return found


def entry_of(chosen: Benchmark, busy: int, limit: float, folder: Path, commit: str) -> Entry:
    """One benchmark timed beside so many busy processes."""
    before, began = os.getloadavg()[0], time.perf_counter()
    with busy_processes(busy):
        outcome = outcome_of(chosen.name, chosen.threads, limit * (1 + busy), folder)
    return Entry(
        name=chosen.name,
        title=chosen.title,
        part=chosen.part,
        commit=commit,
        threads=chosen.threads,
        busy=busy,
        load=[round(before, 2), round(os.getloadavg()[0], 2)],
        took=time.perf_counter() - began,
        outcome=outcome,
    )


def said(entry: Entry) -> str:
    """An entry as a line."""
    found, beside = entry.outcome, f", beside {entry.busy} busy processes" if entry.busy else ""
    head = f"{entry.name}{beside} ({entry.took:.0f} s, load {entry.load[0]:.1f}): "
    if found.kind == "failed":
        return f"{head}FAILED: {found.error}"
    if found.kind == "growth":
        slope = found.slope
        return f"{head}exponent {slope.value:.2f} ({slope.low:.2f} to {slope.high:.2f})"
    missed = " MISSED its goal" if entry.met is False else ""
    if found.kind == "pair":
        ratio = found.ratio
        ours, theirs = median(found.our_seconds), median(found.peer_seconds)
        return (
            f"{head}{ratio.value:.2f} times ({ratio.low:.2f} to {ratio.high:.2f}) as fast as "
            f"{found.peer}, {ours.value:.3g} s against {theirs.value:.3g} s"
            f"{missed}"
        )
    return f"{head}{found.middle.value:.3g} {found.unit}{missed}"


class Kept:
    """The finished entries of a run that may be interrupted: one file for each, below a folder of
    the machine, of those that were run at `commit`.
    """

    def __init__(self, place: Path, commit: str) -> None:
        self.place, self.commit = place, commit

    def path(self, name: str, busy: int) -> Path:
        return self.place / f"{name}-{busy}.json"

    def find(self, name: str, busy: int) -> Entry | None:
        """A finished entry; None where there is none, it failed or cannot be read, and where the
        sources are others, or not those of a commit.
        """
        try:
            entry = Entry.model_validate(read_json(self.path(name, busy)))
        except (WorkflowError, ValueError):
            return None
        known = self.commit and not self.commit.endswith("+")
        same = known and entry.commit == self.commit and entry.outcome.kind != "failed"
        return entry if same else None

    def keep(self, entry: Entry) -> None:
        """Write one."""
        write_atomically(self.path(entry.name, entry.busy), json.dumps(entry.model_dump()))


def timed(
    chosen: Sequence[Benchmark], kept: Kept, rounds: Sequence[int], limit: float, folder: Path
) -> list[Entry]:
    """All benchmarks beside each number of busy processes; those that are kept are not run."""
    found = []
    for busy in rounds:
        for each in chosen:
            if busy and not each.busy:
                continue
            entry = kept.find(each.name, busy)
            if entry is None:
                entry = entry_of(each, busy, limit, folder, kept.commit)
                kept.keep(entry)
            print(said(entry), flush=True)
            found.append(entry)
    return found


def known_for(names: Sequence[str]) -> dict[str, Benchmark]:
    """All benchmarks; if some are named, those of their files only: a machine that lacks the peers
    of the others, such as one with a GPU, runs them as well.
    """
    files = dict.fromkeys(name.partition(".")[0] for name in names)
    if not files or set(files) - set(FILES):
        return all_benchmarks()
    return {name: each for file in files for name, each in benchmarks(file).items()}


def select(known: dict[str, Benchmark], names: Sequence[str]) -> list[Benchmark]:
    """Those named, by themselves or by their file; without names those that are listed."""
    if not names:
        return [each for each in known.values() if each.listed]
    found = [each for name, each in known.items() if {name, name.partition(".")[0]} & set(names)]
    unknown = set(names) - set(known) - {name.partition(".")[0] for name in known}
    if unknown:
        raise SystemExit(f"No benchmark {', '.join(sorted(unknown))}. Known: {', '.join(known)}.")
    return found


def merged(path: Path, made: Bench, known: Collection[str]) -> Bench:
    """A run of some benchmarks with the others of the same day, if machine and versions agree. Of a
    file that some of the `known` are of, only what is still known is kept.
    """
    if not path.is_file():
        return made
    old = read_bench(path)
    if (old.hardware, old.versions) != (made.hardware, made.versions):
        return made
    new = {(entry.name, entry.busy) for entry in made.entries}
    files = {name.partition(".")[0] for name in known}
    entries = [
        entry
        for entry in old.entries
        if entry.name in known or entry.name.partition(".")[0] not in files
        if (entry.name, entry.busy) not in new
    ]
    return made.model_copy(update={"started": old.started, "entries": entries + made.entries})


def main() -> int:
    """Time them; 0 if none failed and none missed its goal."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--quiet", action="store_true", help="not beside busy processes")
    parser.add_argument("--again", action="store_true", help="what is kept of an earlier run, too")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of a benchmark")
    given = parser.parse_args()
    project, known = Project.find(), known_for(given.names)
    chosen, started, commit = select(known, given.names), now(), present_commit(project)
    made = versions((*project.settings.libraries, *PEERS))
    machine = hardware()
    empty = bench_of(started, started, machine, made, [])
    path = folder(project) / file_name(started, empty.hardware)
    kept = Kept(project.build / "bench" / path.stem[11:], commit)
    if given.again:
        for each in kept.place.glob("*.json"):
            each.unlink()
    entries = timed(chosen, kept, (0,) if given.quiet else (0, BUSY), given.limit, project.root)
    bench = bench_of(started, now(), machine, made, entries)
    write_bench(path, merged(path, bench, known) if given.names else bench)
    print(f"wrote {path}")
    bad = [e for e in bench.quiet() if e.outcome.kind == "failed" or e.met is False]
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
