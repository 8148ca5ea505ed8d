"""One process that solves on request: `python -m tests.benchmarks.solving THREADS`, where 0 leaves
the choice to the solvers.

Each line `SOLVER V m d S` is answered by seconds of the wall clock and of the processor, as JSON,
divided by the products with K that `svm` needed, since rounding decides how many these are.
"""

import contextlib
import inspect
import json
import sys
import time

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from ntpcompanion.geometry import solve_nuclear_svm
from ntpcompanion.linear import regularization_path
from ntpcompanion.linear.dynamics import flow
from ntpcompanion.linear.separability import decision as separability
from ntpcompanion.linear.svm import next_token_svm as svm
from ntpcompanion.linear.tables.contexts import ContextTable

SOLVERS = {
    "separability": separability.check_separability,
    "svm": svm.solve_ntp_svm,
    "path": lambda table: regularization_path(table, [1.0, 2.0, 4.0]),
    "nuclear": lambda table: solve_nuclear_svm(table.support.toarray(), tol=1e-4),
    "flow": lambda table: flow.gradient_flow(table, [0.0, 2.0, 4.0]),
}


def fix_threads(count: int) -> None:
    """So many threads for everything in this process, whatever the solvers would choose."""
    torch.set_num_threads(count)
    threadpool_limits(count, user_api="blas")
    for module in (flow, inspect.getmodule(regularization_path), separability, svm):
        module.one_thread_if = lambda small: contextlib.nullcontext()


def main() -> None:
    if count := int(sys.argv[1]):
        fix_threads(count)
    print("ready", flush=True)
    for line in sys.stdin:
        name, *sizes = line.split()
        V, m, d, S = map(int, sizes)
        table = ContextTable.random(m, V, S, d, np.random.default_rng(0))
        wall, processor = time.perf_counter(), time.process_time()
        found = SOLVERS[name](table)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        products = found.iterations if name == "svm" else 1
        print(json.dumps([wall / products, processor / products]), flush=True)


if __name__ == "__main__":
    main()
