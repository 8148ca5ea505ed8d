"""How long runs take against each other."""

import time

import numpy as np


def seconds(*runs, repeats=15):
    """The least time of each, taken in turns, so that a busy machine is busy for all."""
    least = [np.inf] * len(runs)
    for _ in range(repeats):
        for i, run in enumerate(runs):
            began = time.perf_counter()
            run()
            least[i] = min(least[i], time.perf_counter() - began)
    return least
