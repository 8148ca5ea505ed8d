import numpy as np
import pandas as pd
import pytest

from ntpcompanion.experiments.estimates.real_downstream_effects import (
    ACCURACIES,
    RealDownstreamEffects,
    at_one_loss,
    network_table,
)
from ntpcompanion.experiments.real_model.real_downstream import LearnedNetwork
from ntpcompanion.experiments.same_loss.study_results import StudyModel, TaskAccuracies

SEEDS = range(6)


def network(kind, seed, *, width=32, change=0.0, steps=100, shift=0.0):
    """A network whose accuracies are a linear function of the logarithms of loss and trace:
    3 points less for each e-fold of the function's trace, 2 points for half of the excess.
    """
    excess = 0.08 * np.exp(0.05 * seed) * (100 / steps) ** 0.5 * (1.3 if change < 0 else 1.0)
    function = 20 * np.exp(change + 0.01 * seed)
    accuracy = 0.7 - 0.03 * (change if kind == "held" else 0) - 0.02 * np.log2(excess) + shift
    plain = function * (32 / width)
    kinds = {name: accuracy for name in ("full", "projected", "few_shot")}
    task = TaskAccuracies(**kinds, gradient_norm=1e-6, masked=accuracy, heads=accuracy, tuned=0.8)
    model = StudyModel(kind, change, seed, width, excess, 1e-4, plain, plain, {1: task})
    traces = {"function": function, "median": function, "largest": 0.01} if kind == "held" else {}
    return LearnedNetwork(model=model, steps=steps, **traces)


@pytest.fixture(scope="module")
def table():
    held = [
        network("held", seed, change=change, steps=steps)
        for seed in SEEDS
        for change in (-0.4, 0.0, 0.6)
        for steps in (100, 200, 400)
    ]
    sizes = [
        network("pretrained", seed, width=width, steps=steps, shift=0.01 * (width > 32))
        for seed in SEEDS
        for width in (32, 64)
        for steps in (100, 200, 400)
    ]
    return network_table([*held, *sizes], gap=2.0)


@pytest.fixture(scope="module")
def effects(table):
    found = RealDownstreamEffects([], [])
    found.__dict__["table"] = table
    return found


def test_losses_of_a_seed_are_equal(table):
    rows = at_one_loss(table[table.kind == "held"], "change")
    assert len(rows) == 3 * len(SEEDS)
    flat = table[(table.kind == "held") & (table.change == -0.4) & (table.steps == 400)]
    for seed, group in rows.groupby("seed"):
        assert group.share.nunique() == 1
        assert group.share.iloc[0] == pytest.approx(float(flat[flat.seed == seed].share.iloc[0]))
    # the flatter network is taken where it ends, the others between two trainings
    assert rows[rows.change < 0].between.to_numpy() == pytest.approx(0, abs=1e-12)
    log_ratio = np.log(1.3) / np.log(2**0.5)
    assert rows[rows.change >= 0].between.to_numpy() == pytest.approx(log_ratio)


def test_planted_effects_come_out(effects):
    for probe in ("projected", "full", "heads"):
        assert effects.slope(probe).mean == pytest.approx(-3, abs=1e-9)
        assert effects.halved(probe).mean == pytest.approx(2, abs=1e-9)
        assert effects.wider(probe).mean == pytest.approx(1, abs=1e-9)
    assert effects.wider("trace").mean == pytest.approx(-np.log(2), abs=1e-9)
    assert effects.slope("tuned").mean == pytest.approx(0, abs=1e-9)
    assert effects.widths == (32, 64)


def test_tables_for_readers(effects):
    assert effects.slope_table.probe.tolist() == list(ACCURACIES.values())
    assert effects.slope_table.iloc[0, 1].startswith("−3.00")
    learned = effects.learning_table
    assert learned[["width", "steps"]].to_numpy().tolist() == [
        [width, steps] for width in (32, 64) for steps in (100, 200, 400)
    ]
    sharp = effects.plane[effects.plane.strength == 0.6]
    assert sharp.log_trace.to_numpy() == pytest.approx(0.6)
    assert sharp.points.to_numpy() == pytest.approx(-1.8)


def test_losses_that_do_not_meet():
    table = pd.DataFrame({"change": [0, 0, 1], "seed": 3, "share": [1.0, 2.0, 4.0]})
    with pytest.raises(ValueError, match=r"`change` = 0 of seed 3 are at most 2.00 % of the gap"):
        at_one_loss(table, "change")
