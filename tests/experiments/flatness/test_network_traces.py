import numpy as np
import pytest

from ntpcompanion.experiments.flatness import network_traces
from ntpcompanion.experiments.flatness.network_traces import SCALES, Plan
from tests.experiments.cases import small_run

PLAN = {
    "language": {"states": 2, "words": 6, "length": 4},
    "shape": {"width": 8, "layers": 1, "heads": 2},
    "training": {"steps": 20, "batch_size": 32, "weight_decay": 0.0},
    "seeds": [0, 1],
    "inputs": 20,
    "labels": 2,
    "probes": 200,
    "largest_scale": 2.0,
    "factor": 2,
    "more_layers": 1,
    "seed": 0,
}
found, test_a_result_repeats_and_is_plain = small_run(
    network_traces, Plan.from_json(PLAN).to_json(), long=True
)


def test_a_trace_follows_the_squares_of_the_scale(found):
    """A matrix times s has gradients over s, its partner those times s: a + b s² + c / s²."""
    balanced = found.rescalings("balanced").to_numpy()
    assert balanced == pytest.approx(balanced[0, 0], rel=1e-3)  # ε of LayerNorms
    plain = found.rescalings("plain")
    assert list(plain.index) == list(SCALES)
    s = plain.columns.to_numpy(float)
    terms = np.stack([s**0, s**2, s**-2], axis=1)
    for kind in ("query", "value"):
        fit = terms @ np.linalg.lstsq(terms, plain.loc[kind].to_numpy(), rcond=None)[0]
        assert plain.loc[kind].to_numpy() == pytest.approx(fit, rel=1e-9)
    assert np.ptp(plain.loc["value"]) > 0.001
