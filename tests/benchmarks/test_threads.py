"""The threads that the solvers choose against a set of explicit settings, on a quiet machine and
beside four busy processes.

All settings take turns, each in a process of its own, so that what else the machine does meets all
of them alike.
"""

import contextlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.portable import busy_processes

REPEATS, WARM = 15, 2
# The number of threads, 0 for the solvers' own choice, and what the environment says before a pool
# starts.
SETTINGS = {
    "default": (0, {}),
    "1 thread": (1, {}),
    "2 threads": (2, {}),
    "2 threads, passive": (2, {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}),
}
CASES = [
    ("separability", (50, 100, 128, 5)),
    ("separability", (100, 200, 256, 10)),
    ("separability", (300, 600, 768, 20)),
    ("svm", (50, 100, 128, 5)),
    ("svm", (100, 200, 256, 10)),
    ("svm", (300, 600, 768, 20)),
    ("path", (15, 30, 40, 4)),
    ("flow", (10, 20, 25, 3)),
]


@contextlib.contextmanager
def solving(threads, variables):
    """Ask a process with these settings to solve: a function of the request that returns wall and
    processor seconds.
    """
    command = [sys.executable, "-m", "tests.benchmarks.solving", str(threads)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes, env={**os.environ, **variables}) as process:
        assert process.stdout.readline() == "ready\n"

        def ask(request):
            print(request, file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield ask
        process.stdin.close()


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("busy", [0, 4], ids=["quiet", "busy"])
def test_the_default_takes_at_most_1_3_times_as_long_as_the_best_setting(busy):
    with contextlib.ExitStack() as stack:
        asks = {name: stack.enter_context(solving(*setting)) for name, setting in SETTINGS.items()}
        stack.enter_context(busy_processes(busy))
        ratios = {}
        for case in CASES:
            solver, sizes = case
            request = " ".join(map(str, (solver, *sizes)))
            turns = [[ask(request) for ask in asks.values()] for _ in range(REPEATS + WARM)][WARM:]
            wall, processor = np.median(turns, axis=0).T
            ratios[request] = wall[0] / wall.min()
            print(
                f"\n{request}, beside {busy} busy processes, load {os.getloadavg()[0]:.1f}: "
                f"{ratios[request]:.2f} times the best"
            )
            for name, *found in zip(asks, wall, processor, strict=True):
                print(
                    "  {:20} {:9.2f} ms of the clock, {:9.2f} ms of processors".format(
                        name, *(1e3 * x for x in found)
                    ),
                    flush=True,
                )
    assert {request: ratio for request, ratio in ratios.items() if ratio > 1.3} == {}
