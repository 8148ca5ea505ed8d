import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME, glue_all, measure


def test_an_estimate_brings_its_error_and_its_replicates(capsys):
    estimate = SimpleNamespace(mean=0.25, stderr=0.125, replicates=8)
    measure("a.b", estimate)
    measure("a.b", estimate, stderr=0.5, replicates=2)
    assert capsys.readouterr().out == "a.b = 0.25 ± 0.125\na.b = 0.25 ± 0.5\n"


def test_numbers_are_handed_to_the_text(monkeypatch):
    glued = []
    monkeypatch.setattr("myst_nb.glue", lambda *item, display: glued.append((*item, display)))
    glue_all({"one": np.float32(1.0), "two": 2, "three": "−0.5 ± 0.1"})
    assert glued == [("one", 1.0, False), ("two", 2.0, False), ("three", "−0.5 ± 0.1", False)]
    with pytest.raises(TypeError):
        glue_all({"one": None})


def test_in_a_kernel_it_is_an_output_of_the_cell(displayed):
    measure("a.b", 0.5, stderr=0.25, replicates=5, seed=3, records="runs")
    fields = {"value": 0.5, "stderr": 0.25, "replicates": 5, "seed": 3, "records": ["runs"]}
    assert displayed() == [
        {
            MEASUREMENT_MIME: {"id": "a.b", **fields},
            "text/plain": "a.b = 0.5 ± 0.25",
            "text/html": "<p><code>a.b = 0.5 ± 0.25</code></p>",
        }
    ]


def test_in_plain_ipython_it_shows():
    code = "from ntpcompanion.workflow import measure; measure('a.b', [1, 2])"
    command = [sys.executable, "-m", "IPython", "--quick", "--no-banner", "-c", code]
    assert (
        "a.b = [1, 2]" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
