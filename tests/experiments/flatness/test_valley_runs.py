import numpy as np
import pytest

from ntpcompanion.experiments.flatness import valley_runs
from tests.experiments.cases import small_run
from tests.experiments.flatness.test_drift_constant import RIGHT as COIN

pytestmark = pytest.mark.slow  # a run takes seconds; a notebook makes one at smoke
RIGHT = {**COIN, "replicas": 100, "hidden": 16}
found, test_a_result_repeats_and_is_plain = small_run(valley_runs, RIGHT)


def test_traces_fall_at_equal_loss(found):
    flows = {one.model: one for one in found.flows}
    for model, rows in found.level_table.groupby("model"):
        trace = np.interp(rows.t, flows[model].times, flows[model].trace)
        assert rows.trace.to_numpy() == pytest.approx(trace, rel=0.1)
        assert rows.excess.max() < 1e-10
    assert found.change.mean == np.mean(found.changes) < 0
    for model, speed in found.speeds.items():
        times, trace = flows[model].times, flows[model].trace
        assert speed == pytest.approx(1 / 0.1 * (1 - np.interp(0.1, times, trace) / trace[0]), 0.02)


def test_the_spread_is_that_across_the_valley(found):
    table = found.spread_table
    assert table.total.to_numpy() == pytest.approx((table.across + table.along).to_numpy())
    rank = (2 * table.predicted / table.rate)[table.model == "network"]
    assert rank.round(9).tolist() == [4] * 3  # one of two words at each of four inputs
    assert found.across.mean == pytest.approx(1, abs=5 * found.across.stderr + 0.1)
    assert found.spread_exponent.mean == pytest.approx(1, abs=0.3)
