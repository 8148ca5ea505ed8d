"""A million tokens, context length 5: under 5 seconds and 1 GiB. Run with `pytest -m benchmark`."""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, resource, time
import numpy as np
from ntpcompanion.linear.contexts import ContextTable
rng = np.random.default_rng(0)
tokens = {tokens}
start = time.perf_counter()
table = ContextTable.from_tokens(tokens, 1000, 5, 16, rng)
seconds = time.perf_counter() - start
size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps([seconds, size, table.num_contexts]))
"""
TEXTS = {
    "all contexts differ": "rng.integers(0, 1000, 10**6)",
    "word frequencies": "np.minimum(rng.zipf(1.3, 10**6), 1000) - 1",
}


@pytest.mark.benchmark
@pytest.mark.parametrize("tokens", TEXTS.values(), ids=TEXTS.keys())
def test_a_million_tokens_take_under_5_seconds_and_1_gib(tokens, record_property):
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(tokens=tokens)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, gibibytes, num_contexts = json.loads(run.stdout)
    record_property("measured", f"{seconds:.2f} s, {gibibytes:.2f} GiB, {num_contexts} contexts")
    assert seconds < 5
    assert gibibytes < 1
