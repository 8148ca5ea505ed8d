"""Ten thousand steps in the paper's setting (m = 50, V = 10, d = 60, S = 6) with snapshots: at most
one second.
"""

import time

import numpy as np
import pytest

from ntpcompanion.linear.contexts import ContextTable
from ntpcompanion.linear.descent import descend
from ntpcompanion.workflow.base.provenance import hardware, hardware_line

SETTINGS = {
    "gd": {"learning_rate": 0.5},
    "ngd": {"learning_rate": 0.01},
    "adam": {"learning_rate": 0.01, "betas": (0.9, 0.99)},
}


def seconds(run):
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


@pytest.mark.benchmark
@pytest.mark.parametrize("optimizer", SETTINGS)
def test_ten_thousand_steps_take_at_most_a_second(optimizer):
    table = ContextTable.random(50, 10, 6, 60, np.random.default_rng(0))
    run = {"optimizer": optimizer, "steps": 10_000, "keep": 200, **SETTINGS[optimizer]}
    ours = min(
        seconds(lambda: list(descend(table, rng=np.random.default_rng(1), **run))) for _ in range(3)
    )
    W = np.zeros((10, 60))
    loop = 20 * seconds(lambda: [table.gradient(W) for _ in range(500)])
    print(
        f"\n{optimizer}: {ours:.2f} s for 10,000 steps; gradients of the table alone {loop:.2f} s; "
        f"{hardware_line(hardware())}"
    )
    assert ours <= 1
