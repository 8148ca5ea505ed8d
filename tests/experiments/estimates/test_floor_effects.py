from dataclasses import replace

import numpy as np
import pytest

from ntpcompanion.experiments.estimates.floor_effects import FloorEffects
from tests.experiments.estimates.test_real_downstream_effects import network, run_of

CHANGES = (-0.4, 0.0, 0.6)
SEEDS = range(4)


def run_of_suite(suite, seeds):
    """Networks whose accuracies fall by 3 points for each e-fold of the trace, less by the suite
    at masked words, and not at all below the control.
    """
    rows = [network(kind, seed) for kind in ("untrained", "pretrained") for seed in seeds]
    for seed in seeds:
        for change in CHANGES:
            row = network("held", seed, change=change)
            task = row.model.tasks[1]
            masked = 0.5 - 0.01 * (1 + suite + seed) * change
            few = 0.4 - 0.05 * max(change, 0)
            model = replace(row.model, tasks={1: replace(task, masked=masked, few_shot=few)})
            rows.append(row.model_copy(update={"model": model}))
    return run_of(rows, suite)


@pytest.fixture(scope="module")
def effects():
    pairs = [(suite, seeds) for suite in (0, 1, 2) for seeds in ((0, 1), (2, 3))]
    short = [network("pretrained", seed, steps=steps) for seed in SEEDS for steps in (25, 50)]
    return FloorEffects([run_of_suite(*pair) for pair in pairs], [run_of(short)])


def test_planted_slopes_come_out_for_each_seed_and_suite(effects):
    slopes = effects.slopes("masked")
    assert slopes.to_numpy() == pytest.approx(
        np.array([[-(1.0 + suite + seed) for suite in (0, 1, 2)] for seed in SEEDS])
    )
    assert list(slopes.columns) == [0, 1, 2]
    found = effects.by_probe.loc["masked", "slope"]
    assert found.mean == pytest.approx(-3.5)
    seeds, suites = (np.var(slopes.mean(axis=axis), ddof=1) for axis in (1, 0))
    assert found.stderr == pytest.approx((seeds / 4 + suites / 3) ** 0.5)


def test_ways_of_a_slope(effects):
    by_probe = effects.by_probe
    # the median is the root of the trace
    assert by_probe.loc["masked", "median"].mean == pytest.approx(-7)
    few = by_probe.loc["few_shot"]
    assert (few.flatter.mean, few.sharper.mean) == (pytest.approx(0, abs=1e-9), pytest.approx(-5))
    assert -5 < few.slope.mean < -2.5
    assert by_probe.loc["full", "halved"].mean == pytest.approx(2)


def test_changes_are_those_from_the_control_of_the_seed_and_suite(effects):
    assert effects.change("function", 0.6).mean == pytest.approx(0.6)
    assert effects.change("masked", -0.4).mean == pytest.approx(1.4)
    table = effects.change_table.set_index("asked")
    assert table.loc[0.6, "at masked words"].startswith("−2.10")
    assert table.loc[0.0, "16 columns"] == "+0.00 [+0.00, +0.00]"
    held = effects.held[effects.held.change == -0.4]
    sharp = effects.plane[effects.plane.strength == 0.6]
    assert sharp.seed.tolist() == [*SEEDS]
    assert sharp.log_trace.to_numpy() == pytest.approx(0.6)
    assert sharp.points.to_numpy() == pytest.approx(-1.8)
    assert table.loc[-0.4, "loss (nats)"] == pytest.approx(held.excess.mean())


def test_numbers_of_the_text(effects):
    summary = effects.summary
    assert summary["floor_most"] == pytest.approx(1.3 * summary["floor_nats"])
    assert summary["floor_slope_masked"].startswith("−3.50")
    assert summary["floor_doubled"] == pytest.approx(np.log2(1.3))
    assert summary["floor_flat"].startswith("−0.40")
    assert effects.slope_table.columns[1] == "all five traces"
    assert summary["floor_sharper_few_shot"].startswith("−5.00")
