"""What the machine itself can do: no computation is faster than these."""

import numpy as np
import torch

from tests.benchmarks.registry import amount, benchmark, clocked

PART = "Limits of the machine"
ENTRIES = 2**25  # 256 MiB in double precision: no cache holds them


@benchmark("Copying 256 MiB in memory, read and written bytes", PART, busy=False)
def memory_bandwidth():
    a = np.ones(ENTRIES)
    b = np.zeros(ENTRIES)
    seconds = [clocked(lambda: np.copyto(b, a)) for _ in range(12)][1:]
    return amount("GB/s", [2 * a.nbytes / s / 1e9 for s in seconds])


def _rate(product, n, seconds=11):
    return amount("GFLOP/s", [2 * n**3 / clocked(product) / 1e9 for _ in range(seconds)][1:])


@benchmark("Product of two 1500 × 1500 matrices, double precision, NumPy", PART, busy=False)
def product_double():
    a = np.random.default_rng(0).random((1500, 1500))
    return _rate(lambda: a @ a, 1500)


@benchmark("Product of two 2000 × 2000 matrices, single precision, PyTorch", PART, busy=False)
def product_single():
    a = torch.rand(2000, 2000, generator=torch.Generator().manual_seed(0))
    return _rate(lambda: a @ a, 2000)
