"""A phase diagram of 5 support sizes × 15 ratios × 20 draws at m = 40: under 60 seconds on one
core. Run with `pytest -m benchmark`.
"""

import json
import os
import subprocess
import sys

import pytest

from ntpcompanion.workflow.base.project import ONE_THREAD

SCRIPT = """
import json, time
from ntpcompanion.linear.phase import crossing_sample, table_of_sizes
from ntpcompanion.linear.threshold import statistical_dimension
from ntpcompanion.randomness import stream
start = time.perf_counter()
undecided = 0.0
for S in (1, 2, 4, 6, 8):
    rngs = (stream(0, f"table {S} {draw}") for draw in range(20))
    sample = crossing_sample(table_of_sizes([S] * 40, 10, 40, rng) for rng in rngs)
    curve = sample.shares([round(40 * k / 16) for k in range(1, 16)])
    assert curve.separable[0] == 0 and (curve.separable[-1] == 1 or S == 8)
    undecided = max(undecided, curve.undecided.max())
diagram = time.perf_counter() - start
start = time.perf_counter()
statistical_dimension(1000, 1)
print(json.dumps([diagram, undecided, time.perf_counter() - start]))
"""


@pytest.mark.benchmark
def test_a_phase_diagram_takes_under_a_minute_and_a_statistical_dimension_under_a_second(
    record_property,
):
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **ONE_THREAD},
    )
    diagram, undecided, dimension = json.loads(run.stdout)
    measured = (
        f"phase diagram {diagram:.1f} s, at most {undecided:.0%} undecided; statistical dimension "
        f"at V = 1000 {dimension:.2f} s"
    )
    record_property("measured", measured)
    print(f"\n{measured}")
    assert diagram < 60
    assert dimension < 1
