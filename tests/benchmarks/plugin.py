"""`make bench`, as a plugin of pytest: each `bench_*.py` is timed, and what it found is kept in
`book/records/bench/DATE-MACHINE.json`, which the page *Speed* reads.

A benchmark writes its entry as soon as it has ended: what was run before on that day, with the same
versions, stays. One that fails is kept with its error, and so is one that missed its goal.
"""

import contextlib
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ntpcompanion.workflow.base.files import read_sealed, write_sealed
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware, now, versions
from ntpcompanion.workflow.running.history import present_commit
from tests.benchmarks.timing import Timing
from tests.portable import busy_processes

BUSY = 4  # processes that keep a core busy
SHOWN = 400  # characters of an error
PEERS = ("torch-struct", "hmmlearn", "curvlinops-for-pytorch", "transformers", "piqp", "papermill")
PLACE = pytest.StashKey[Path]()
HEAD = pytest.StashKey[dict[str, Any]]()
TIMED = pytest.StashKey[Timing]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--unlisted`: also what is large, or needs a GPU. `--into`: another folder."""
    parser.addoption("--unlisted", action="store_true")
    parser.addoption("--into", type=Path)


def pytest_configure(config: pytest.Config) -> None:
    """What a run tells of the machine, and the file that it is kept in."""
    project, machine = Project.find(), hardware()
    folder = config.getoption("--into") or project.records / "bench"
    head = {
        "schema": 1, "started": now(), "finished": now(), "hardware": {"gpu": "", **machine},
        "versions": versions((*project.settings.libraries, *PEERS)),
        "commit": present_commit(project),
    }  # fmt: skip
    config.stash[HEAD], config.stash[PLACE] = head, folder / file_name(head)


def file_name(head: dict[str, Any]) -> str:
    """`2026-11-23-intel-xeon-processor-2-cores.json`."""
    words = f"{head['hardware']['processor']} {head['hardware']['cores']} cores".lower()
    return f"{head['started'][:10]}-{re.sub(r'[^a-z0-9]+', '-', words).strip('-')}.json"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A benchmark is run on a quiet machine and, where it says so, beside busy processes."""
    if mark := metafunc.definition.get_closest_marker("about"):
        counts = (0, BUSY) if mark.kwargs["busy"] else (0,)
        metafunc.parametrize("busy", counts, ids=["quiet", "busy"][: len(counts)], scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """All on a quiet machine come first."""
    marked = [(item, item.get_closest_marker("about")) for item in items]
    unlisted = config.getoption("--unlisted")
    chosen = [item for item, mark in marked if not mark or unlisted or mark.kwargs["listed"]]
    items[:] = sorted(chosen, key=lambda item: item.name.endswith("[busy]"))


@pytest.fixture
def timing(request: pytest.FixtureRequest, busy: int) -> Iterator[Timing]:
    """Times a benchmark with its threads, beside so many busy processes."""
    timing = Timing(lambda: request.getfixturevalue("benchmark"))
    request.node.stash[TIMED] = timing
    with threads_of_torch(request.node), busy_processes(busy):
        yield timing


@contextlib.contextmanager
def threads_of_torch(item: pytest.Item) -> Iterator[None]:
    if torch := sys.modules.get("torch"):
        before = torch.get_num_threads()
        torch.set_num_threads(item.get_closest_marker("about").kwargs["threads"])
        yield
        torch.set_num_threads(before)
    else:
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Keep what a benchmark found, or its error."""
    before, began, outcome = os.getloadavg()[0], time.perf_counter(), {}
    try:
        return (yield)
    except BaseException as error:
        outcome = {"kind": "failed", "error": f"{type(error).__name__}: {error}"[:SHOWN]}
        raise
    finally:
        if timing := item.stash.get(TIMED, None):
            load = [round(before, 2), round(os.getloadavg()[0], 2)]
            keep(item, timing.outcome or outcome, load, time.perf_counter() - began)


def keep(item: pytest.Item, outcome: dict[str, Any], load: list[float], took: float) -> None:
    """Write an entry in place of an older one of its name."""
    path, head = item.config.stash[PLACE], item.config.stash[HEAD]
    said = dict(item.get_closest_marker("about").kwargs)
    name = f"{item.path.stem.removeprefix('bench_')}.{item.originalname.removeprefix('test_')}"
    entry = {
        "name": name, "title": said["title"], "part": said["part"], "commit": head["commit"],
        "threads": said["threads"], "busy": item.callspec.params["busy"], "load": load,
        "took": took, "outcome": outcome,
    }  # fmt: skip
    run = {key: value for key, value in head.items() if key != "commit"}
    old = read_sealed(path) if path.is_file() else {}
    same = all(old.get(key) == run[key] for key in ("hardware", "versions"))
    others = [
        each
        for each in (old["entries"] if same else [])
        if (each["name"], each["busy"]) != (entry["name"], entry["busy"])
    ]
    started = old["started"] if same else run["started"]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_sealed(path, run | {"started": started, "finished": now(), "entries": [*others, entry]})
