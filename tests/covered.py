"""Which tests run which line: what `mutants.py` asks before it runs any of them."""

import itertools
import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import coverage
import pytest

STARTS_PROCESSES = 0.4  # seconds: quicker tests do not start a process of their own


@dataclass(frozen=True)
class Coverage:
    """Which tests run which line of which file, and how many seconds each test takes."""

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]

    @classmethod
    def load(cls, path: Path) -> "Coverage":
        """What `record` wrote."""
        data = json.loads(path.read_text())
        return cls(
            {file: {int(k): v for k, v in lines.items()} for file, lines in data["lines"].items()},
            data["seconds"],
        )

    def tests_of(self, file: str, line: int, budget: float) -> list[str]:
        """The tests that may notice a fault at a line, the quickest first, within a budget of
        seconds.
        """
        lines = self.lines.get(file, {})
        # a line of the module's body is run once, by whatever imports it: every test of the file
        # may notice
        found = lines.get(line) or {test for tests in lines.values() for test in tests}
        # what runs in no test's own process is run, if at all, by a process that a test starts
        found = found or {
            test for test, seconds in self.seconds.items() if seconds > STARTS_PROCESSES
        }
        ordered = sorted(found, key=lambda test: self.seconds.get(test, 0.0))
        spent = itertools.accumulate(self.seconds.get(test, 0.0) for test in ordered)
        return [
            test for test, sum_ in zip(ordered, spent, strict=True) if sum_ <= budget
        ] or ordered[:1]


class _Recorder:
    """A pytest plugin: one context of `coverage` for each test, and its time."""

    def __init__(self, cover: coverage.Coverage) -> None:
        self.cover, self.seconds = cover, defaultdict(float)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.cover.switch_context(item.nodeid)
        began = time.perf_counter()
        yield
        self.seconds[item.nodeid] = time.perf_counter() - began
        self.cover.switch_context("")


def record(copy: Path, package: str, arguments: list[str], target: Path) -> int:
    """Run pytest in this process with the package of a copy watched, and write what `Coverage.load`
    reads. Returns its exit code.
    """
    cover = coverage.Coverage(data_file=None, include=[f"{copy}/{package}/*"], config_file=False)
    recorder = _Recorder(cover)
    cover.start()
    code = pytest.main(arguments, plugins=[recorder])
    cover.stop()
    data = cover.get_data()
    lines = {
        Path(file).relative_to(copy).as_posix(): {
            line: [c for c in contexts if c]
            for line, contexts in data.contexts_by_lineno(file).items()
            if any(contexts)
        }
        for file in data.measured_files()
    }
    target.write_text(json.dumps({"lines": lines, "seconds": recorder.seconds}))
    return int(code)
