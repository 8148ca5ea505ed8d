"""`make mutants`: would a test notice a small fault? Plants one fault after another in a copy and
runs the tests that pass over its line.

`python -m tests.mutants [ROOM ...] [--again]`: rooms are `linear` and `workflow`; `--again` tries
only those that survived last time. Takes about two hours on two cores, needs a POSIX system, and is
not part of CI. Survivors that no test can notice are in `mutants.yml`, each with a reason.
"""

import argparse
import contextlib
import functools
import itertools
import json
import multiprocessing
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import pytest
import yaml

from tests.choices import chosen
from tests.copies import ROOT, copy_checkout
from tests.covered import Coverage, record
from tests.mutations import Mutant, mutants

WORK = ROOT / "_build" / "mutants"
ROOMS = {"linear": ["tests/linear"], "workflow": ["tests/workflow", "tests/drills"]}
# no arrays there: without their checks everything starts sooner
EXTRA = {"linear": [], "workflow": ["--jaxtyping-packages="]}
REASONS = ROOT / "tests" / "mutants.yml"
ALLOWED = 0.05  # share of survivors
OPTIONS = [
    "-q",
    "-n0",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:unraisableexception",
    "--timeout=120",
    "-W",
    "ignore:Module already imported",
]
BUDGET = 6.0  # seconds of tests for a mutant; `--again` runs all of them
OVER = -1  # exit code of what was stopped for its time
MOMENTS = itertools.count(10**9)
PRELOADED = (
    "numpy scipy.sparse scipy.optimize torch cvxpy pandas hypothesis nbformat jupytext papermill "
    "pydantic typer rich psutil IPython"
)


def measure_coverage(copy: Path, room: str) -> Coverage:
    """Run the tests of a room once, in a child process; they must pass."""
    found = WORK / f"{room}-coverage.json"
    code = _in_child(
        lambda: record(copy, f"ntpcompanion/{room}", [*OPTIONS, *EXTRA[room], *ROOMS[room]], found),
        copy,
        limit=1800,
    )
    if code:
        raise SystemExit(
            f"The tests of {room} do not pass in {copy}; see {copy.with_suffix('.log')}."
        )
    return Coverage.load(found)


def code_with(mutant: Mutant, copy: Path, arguments: list[str], limit: float) -> int:
    """Exit code of pytest with the mutant in place: 0 if nothing notices it, `OVER` for a run over
    the limit, which does.
    """
    path = copy / mutant.file
    original, stat = path.read_bytes(), path.stat()
    path.write_text(mutant.source, encoding="utf-8")
    # no two versions share a date: bytecode of one is never taken for another
    os.utime(path, (moment := next(MOMENTS), moment))
    try:
        return _in_child(lambda: int(pytest.main([*OPTIONS, "-x", *arguments])), copy, limit)
    finally:
        path.write_bytes(original)
        os.utime(path, (stat.st_atime, stat.st_mtime))


def _in_child(work: object, copy: Path, limit: float) -> int:
    """Exit code of `work()` in a forked process whose folder and imports are those of the copy;
    `OVER` after the limit.
    """
    child = os.fork()
    if not child:
        os.setsid()
        code = 1
        try:
            # those of a pool may not start processes: tests do
            multiprocessing.current_process()._config["daemon"] = False
            os.chdir(copy)
            sys.path.insert(0, str(copy))
            for name in [
                name for name in sys.modules if name.split(".")[0] in ("ntpcompanion", "tests")
            ]:
                del sys.modules[name]
            os.environ["PYTHONPATH"] = str(copy)
            log = os.open(copy.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return OVER


def _try(task: tuple[Mutant, list[str], float], room: str, jobs: int) -> tuple[str, int]:
    mutant, tests, limit = task
    # processes of one pool have consecutive numbers: each has a copy of its own
    copy = WORK / f"{room}-{multiprocessing.current_process()._identity[0] % jobs}"
    return mutant.key, code_with(mutant, copy, [*EXTRA[room], *tests], limit)


def main() -> int:
    """Try the mutants of the rooms; 0 if few survive and every survivor is known with its
    reason.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rooms", nargs="*", help=" ".join(ROOMS))
    parser.add_argument("--again", action="store_true", help="only those that survived last time")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    rooms = chosen(parser, "room", options.rooms, ROOMS)
    for module in PRELOADED.split():
        __import__(module)
    WORK.mkdir(parents=True, exist_ok=True)
    known, code = yaml.safe_load(REASONS.read_text(encoding="utf-8")) or {}, 0
    for room in rooms:
        code |= _try_room(room, {item["mutant"] for item in known.get(room, [])}, options)
    return code


def _try_room(room: str, known: set[str], options: argparse.Namespace) -> int:
    copies = [copy_checkout(WORK / f"{room}-{index}") for index in range(options.jobs)]
    cover = measure_coverage(copies[0], room)
    files = sorted((copies[0] / "ntpcompanion" / room).rglob("*.py"))
    found = [
        m
        for path in files
        for m in mutants(path.relative_to(copies[0]).as_posix(), path.read_text(encoding="utf-8"))
    ]
    last = WORK / f"{room}-survivors.json"
    if options.again:
        found = [mutant for mutant in found if mutant.key in json.loads(last.read_text())]
    tasks = []
    for mutant in found:
        tests = cover.tests_of(mutant.file, mutant.line, float("inf") if options.again else BUDGET)
        tasks.append((mutant, tests, 15 + 4 * sum(cover.seconds.get(test, 0.0) for test in tests)))
    random.Random(0).shuffle(tasks)  # a run that is stopped has tried a fair sample
    survivors, stopped = [], 0
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for number, (key, code) in enumerate(
            pool.imap_unordered(functools.partial(_try, room=room, jobs=options.jobs), tasks), 1
        ):
            if number % 50 == 0:
                print(f"{number}/{len(tasks)}", flush=True)
            stopped += code == OVER
            if code == 0:
                survivors.append(key)
                print(f"{number}/{len(tasks)} survives: {key}", flush=True)
    last.write_text(json.dumps(survivors))
    unknown, gone = (
        sorted(set(survivors) - known),
        sorted(known - set(survivors)) if not options.again else [],
    )
    share = len(survivors) / max(1, len(found))
    print(
        f"{room}: {len(found)} mutants, {len(survivors)} survive ({share:.1%}), {len(unknown)} "
        f"without a reason; {stopped} noticed by time"
    )
    print(
        "\n".join(
            [
                *(f"  no reason given: {key}" for key in unknown),
                *(f"  listed, but noticed or gone: {key}" for key in gone),
            ]
        )
    )
    return int(bool(unknown or gone) or (not options.again and share > ALLOWED))


if __name__ == "__main__":
    sys.exit(main())
