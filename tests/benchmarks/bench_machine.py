"""What the machine itself can do: no computation is faster than these."""

import subprocess
import sys

import numpy as np
import torch

from tests.benchmarks.timing import about, clocked

PART = "Limits of the machine"
ENTRIES = 2**25  # 256 MiB in double precision: no cache holds them


@about("Copying 256 MiB in memory, read and written bytes", PART, busy=False)
def test_memory_bandwidth(timing):
    a = np.ones(ENTRIES)
    b = np.zeros(ENTRIES)
    seconds = [clocked(lambda: np.copyto(b, a)) for _ in range(12)][1:]
    timing.amount("GB/s", [2 * a.nbytes / s / 1e9 for s in seconds])


def _rate(timing, product, n, seconds=11):
    timing.amount("GFLOP/s", [2 * n**3 / clocked(product) / 1e9 for _ in range(seconds)][1:])


@about("Product of two 1500 × 1500 matrices, double precision, NumPy", PART, busy=False)
def test_product_double(timing):
    a = np.random.default_rng(0).random((1500, 1500))
    _rate(timing, lambda: a @ a, 1500)


@about("Product of two 2000 × 2000 matrices, single precision, PyTorch", PART, busy=False)
def test_product_single(timing):
    a = torch.rand(2000, 2000, generator=torch.Generator().manual_seed(0))
    _rate(timing, lambda: a @ a, 2000)


# what the runs of a sweep do: Python and small arrays; prints seconds
ALONE = """import time
import numpy as np
a = np.random.default_rng(0).random((300, 20))
print("ready", flush=True)
input()
began = time.perf_counter()
for _ in range(6000):
    a @ (a.T @ (a @ np.ones(20)))
    sorted(range(2000), key=lambda n: -n)
print(time.perf_counter() - began)"""


@about("Two processes at a time that share nothing", PART, busy=False, threads=2)
def test_two_processes(timing):
    """Twice the work in the seconds of the slower one, against one process by itself."""
    found = []
    for _ in range(5):
        (one,), two = together(1), together(2)
        found.append(2 * one / max(two))
    timing.amount("times as fast as one", found, note="No sweep with two workers is faster.")


def together(number):
    """Seconds of so many processes that begin at the same time."""
    command = [sys.executable, "-c", ALONE]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, **pipes) for _ in range(number)]
    assert [each.stdout.readline() for each in running] == ["ready\n"] * number
    for each in running:
        each.stdin.write("\n")
        each.stdin.flush()
    return [float(each.communicate()[0]) for each in running]
