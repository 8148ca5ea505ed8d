from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from ntpcompanion.experiments.estimates.real_downstream_effects import (
    ACCURACIES,
    RealDownstreamEffects,
    at_one_loss,
)
from ntpcompanion.experiments.real_model.continued_texts import ContinuationPlan
from ntpcompanion.experiments.real_model.real_downstream import LearnedNetwork, Result
from ntpcompanion.experiments.same_loss.study_model import StudyModel, TaskAccuracies
from ntpcompanion.mlm.evaluation.context_ablation import ContextGaps
from ntpcompanion.recorded import Run

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
    traces = (
        {"function": function, "median": function**0.5, "largest": 0.01} if kind == "held" else {}
    )
    return LearnedNetwork(model=model, steps=steps, **traces)


def run_of(networks, suite=0):
    """A run with these networks, of a language whose learnable gap is 2 nats."""
    result = Result(
        networks=tuple(networks),
        vocabulary=("a", "b"),
        sentences=("ab",),
        coverage=0.9,
        gaps=ContextGaps(1.0, 0.0, 3.0, 3.0, 1.5, 0.0),
        chance=0.2,
        bayes=0.8,
        columns={"Pr": 0.65, "log Pr": 0.7, "words": 0.6},
        device="cpu",
    )
    language = ContinuationPlan(("a", "b"), words=2, length=2, beginnings=2)
    probe = SimpleNamespace(probe=SimpleNamespace(dims=16))
    return Run(SimpleNamespace(language=language, suite_seed=suite, suite=probe), result)


@pytest.fixture(scope="module")
def effects():
    held = [
        network("held", seed, change=change, steps=steps)
        for seed in SEEDS
        for change in (-0.4, 0.0, 0.6)
        for steps in (100, 200, 400)
    ]
    sizes = {
        width: [
            network("pretrained", seed, width=width, steps=steps, shift=0.01 * (width > 32))
            for seed in SEEDS
            for steps in (100, 200, 400)
        ]
        for width in (32, 64)
    }
    start = {
        width: [network("untrained", seed, width=width, steps=1) for seed in SEEDS]
        for width in (32, 64)
    }
    narrow = run_of((*start[32], *sizes[32], *held), suite=1)
    others = [row for row in narrow.result.networks if row not in held or row.model.strength]
    longer = [network("held", seed, steps=steps) for seed in SEEDS for steps in (400, 800)]
    first = run_of([*others, *longer])
    return RealDownstreamEffects([first], [narrow], [run_of((*start[64], *sizes[64]))])


@pytest.fixture(scope="module")
def table(effects):
    return effects.table


def test_losses_of_a_seed_are_equal(table):
    table = table[table.suite == 1]
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
        assert effects.slope(probe, effects.first_traces).mean == pytest.approx(-3, abs=1e-9)
        assert effects.halved(probe).mean == pytest.approx(2, abs=1e-9)
        assert effects.wider(probe).mean == pytest.approx(1, abs=1e-9)
    assert effects.wider("trace").mean == pytest.approx(-np.log(2), abs=1e-9)
    assert effects.slope("tuned").mean == pytest.approx(0, abs=1e-9)
    assert effects.slope("full", trace="median").mean == pytest.approx(-6, abs=1e-9)
    assert effects.slope("full", effects.ends).mean == pytest.approx(-3, abs=1e-9)
    odds = effects.traces.assign(full=100 * expit(0.5 * np.log(effects.traces.function)))
    assert effects.slope("full", odds, odds=True).mean == pytest.approx(0.5)
    # after the same steps the flatter networks also have 1.3 times the excess
    x, y = np.array([-0.4, 0.0, 0.6]), np.array([1.2 - 2 * np.log2(1.3), 0.0, -1.8])
    line = np.polynomial.Polynomial.fit(x, y, 1).convert().coef[1]
    assert effects.slope("full", effects.longest).mean == pytest.approx(line)
    assert effects.widths == (32, 64)
    assert effects.trace_change(min).mean == pytest.approx(-0.4)
    assert effects.trace_change(max).mean == pytest.approx(0.6)
    same = effects.of("pretrained").query("steps == 400")
    assert effects.wider("full", same).mean == pytest.approx(1)
    ends = [100 * (0.7 - 0.02 * np.log2(0.04 * np.exp(0.05 * seed))) - 70 for seed in SEEDS]
    assert effects.beyond_table().mean == pytest.approx(np.mean(ends))


def test_numbers_of_the_text(effects):
    summary = effects.summary
    assert summary["sentences"] == 4
    assert summary["gap"] == 2
    assert summary["flat"].startswith("−0.40")
    assert summary["width_trace"].startswith("−0.69")
    assert summary["untrained_wider"].startswith("+0.00")
    flat = effects.of("held", suite=1).query("change < 0 and steps == 400")
    assert summary["held_level"] == pytest.approx(flat.share.mean())
    longest = effects.of("pretrained").query("steps == 400 and width == 32")
    assert summary["width_level"] == pytest.approx(longest.share.mean())


def test_tables_for_readers(effects):
    assert effects.slope_table.probe.tolist() == list(ACCURACIES.values())
    first = effects.slope_table.set_index("probe").loc["64 columns"].str.partition(" ")[0]
    assert first["one loss"] == first["first run"] == "−3.00"
    assert first["by the median input"] == "−6.00"
    assert (first["twice the width"], first["half of the loss"]) == ("+1.00", "+2.00")
    assert effects.summary["after_full"].startswith(first["same steps"])
    learned = effects.learning_table
    assert learned[["width", "steps"]].to_numpy().tolist() == [
        [width, steps] for width in (32, 64) for steps in (1, 100, 200, 400)
    ]
    sharp = effects.plane[effects.plane.strength == 0.6]
    assert sharp.log_trace.to_numpy() == pytest.approx(0.6)
    assert sharp.points.to_numpy() == pytest.approx(-1.8)


def test_losses_that_do_not_meet(effects):
    with pytest.raises(ValueError, match=r"`change` = 0.0 of seed 0 are at most 2.00 % of the"):
        at_one_loss(effects.of("held"), "change")
    one = effects.of("held").query("steps == 400")
    with pytest.raises(ValueError, match=r"two trainings for `change` = -0.4 of seed 0, got 1"):
        at_one_loss(one, "change")
    table = pd.DataFrame({"change": [0, 0, 1], "seed": 3, "share": [1.0, 2.0, 4.0]})
    with pytest.raises(ValueError, match=r"`change` = 0 of seed 3 are at most 2.00 % of the gap"):
        at_one_loss(table, "change")
