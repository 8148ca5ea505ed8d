import numpy as np
import pandas as pd
import pytest

from ntpcompanion.experiments.estimates import function_effects
from ntpcompanion.experiments.estimates import trace_effects as effects
from ntpcompanion.experiments.estimates.function_effects import (
    DriftBounds,
    FunctionEffects,
)
from ntpcompanion.experiments.estimates.held_effects import HeldEffects
from ntpcompanion.experiments.estimates.recorded_studies import RecordedStudies
from ntpcompanion.experiments.same_loss.study_model import TaskReferences
from tests.experiments.same_loss.test_recorded_study import ALONE, model, rows, study_of

TASK = {1: TaskReferences(0.1, 0.9, ALONE, ALONE)}


def study(weights=(-0.01, -0.004, 0.0, 0.01), **fields):
    """The trace falls by e for each hundredth of the weight, and the accuracy by two points; the
    models of seed 2 fall by two points more at the largest weight.
    """
    models = [*rows("saturated", 0.0, 0.008, 1.0, 0.0)]
    models += rows("continued", 0.0, 0.008, np.exp(0.5), 3.0)
    models += rows("adversarial", 0.001, 0.012, np.exp(0.1), -4.0)
    models += rows("adversarial", 0.01, 0.012, np.exp(0.5), -9.0)
    models += [*rows("annealed", 0.0, 0.008, 1.0, 0.0), *rows("annealed", 0.3, 0.01, 0.5, 0.0)]
    models += rows("rescaled", 0.4, 0.008, np.exp(-0.25), 0.5)
    for weight in weights:
        points = -200 * weight
        models += rows("penalty", weight, 0.008 + abs(weight) / 100, np.exp(-100 * weight), points)
    last = models[-1]
    models[-1] = model("penalty", last.strength, 2, last.excess, last.balanced, 0.68)
    found = study_of(*models, references=TASK, **fields)
    found.table["masked"] = found.table.projected
    return found


STUDY = study()
FOUND = effects.TraceEffects(RecordedStudies(*[STUDY] * 8))


def test_penalties_of_the_longer_study_count_and_only_those_that_flatten():
    longer = study((-0.01, 0.0, 0.02))
    found = effects.TraceEffects(RecordedStudies(STUDY, longer, *[STUDY] * 6))
    assert found.eight.strengths("penalty") == [0.0, 0.02]
    assert found.flatter["grammar"].strengths("penalty") == [0.0, 0.01]
    assert found.eight.strengths("adversarial") == [0.001, 0.01]


def test_slopes_and_doses_by_hand():
    """A fall of one e-fold: 2 points each of two seeds, 4 - (72 - 68 - 2) = 4 of the third."""
    assert FOUND.slopes.loc["grammar", "projected"].mean == pytest.approx((2 + 2 + 4) / 3)
    assert FOUND.strongest("balanced")["8 states"].mean == pytest.approx(-1.0)
    table = FOUND.dose_table
    assert [*table.columns[:3]] == ["language", "μ", "trace (e-folds)"]
    assert table["trace (e-folds)"].tolist() == ["−1.00 [−1.00, −1.00]"] * 3
    side = FOUND.sides.loc["6 states"]
    assert (side.dose, side.level) == (pytest.approx(1.0), pytest.approx(71.0))
    assert side.dearer == pytest.approx(100 * 1e-4 / 0.8)
    assert side.odds_word == "excluded"  # flatter models are worse here
    assert FOUND.excess_at_largest_weight("grammar") == pytest.approx(100 * 0.0081 / 0.8)


def test_the_sharpest_models_and_the_lines_of_seeds():
    """Weights -0.01, -0.004, 0, 0.01: distances of log traces from their mean 0.1."""
    lever = 100 * 0.9**2 / (0.9**2 + 0.3**2 + 0.1**2 + 1.1**2)
    sharpest = FOUND.sharpest.loc["6 states"]
    assert sharpest.lever == pytest.approx(lever)
    assert [sharpest.least, sharpest.most] == pytest.approx([10 * np.e, 12 * np.e])
    lines = FOUND.penalty_lines
    assert lines.trace.loc[0.01].tolist() == pytest.approx([10 / np.e, 11 / np.e, 12 / np.e])
    assert lines.accuracy.loc[0.0].tolist() == pytest.approx([70, 71, 72])


def test_a_larger_loss_alone_costs_points_for_each_per_cent():
    begun = study_of(*rows("saturated", 0.0, 0.016, 1.0, -3.0))
    longer = study_of(*rows("saturated", 0.0, 0.008, 1.0, 0.0))
    for own in (begun, longer):
        own.table["masked"] = own.table.projected
    found = effects.TraceEffects(RecordedStudies(begun, longer, *[STUDY] * 6))
    assert found.points_per_percent == pytest.approx(-3.0)


def test_slopes_across_widths_are_named_in_words():
    arms = (("saturated", 3.0), ("untrained", 2.0))
    widths = [
        study_of(
            *(one for arm, lost in arms for one in rows(arm, 0.0, 0.008, np.exp(k), -lost * k))
        )
        for k in range(3)
    ]
    for own in widths:
        own.table["heads"] = own.table.projected
    first, *wider = widths
    found = effects.TraceEffects(RecordedStudies(first, STUDY, *wider, *[STUDY] * 4))
    (row,) = found.wide_slopes({"full": "all features"}).to_numpy().tolist()
    assert row == ["all features", *["−3.00 [−3.00, −3.00]"] * 2]
    steps = found.wide_steps
    assert steps["next_trace"] == steps["further_trace"] == "+1.00 [+1.00, +1.00]"
    assert steps["further_heads"] == "−3.00 [−3.00, −3.00]"
    assert steps["next_untrained"] == "−2.00 [−2.00, −2.00]"


def test_what_the_function_keeps_of_the_traces():
    """The function has half of what the penalty does to the balanced trace, in e-folds."""
    own = study((-0.01, 0.0, 0.01, 0.03))
    for name in ("function", "median"):
        own.table[name] = own.table.balanced**0.5
    found = FunctionEffects({"8 states": own})
    summary = found.summary.loc["8 states"]
    assert [summary.grew, summary.left, summary.span] == pytest.approx([1.0, 0.5, 2.0])
    # four points an e-fold of the function; at the largest weight one of three seeds falls by less
    assert summary.function_masked_sharper == "+4.00 [+4.00, +4.00]"
    assert summary.function_masked_flatter[:5] == "+3.52"
    assert found.excess_of_sharpest == pytest.approx((100 * 1e-4 / 0.8,) * 2)
    assert found.change_table.weight.tolist() == ["-0.01", "0.01", "0.03"]
    assert found.slope_table.columns[1] == "64 columns"
    assert found.planes["8 states"].log_trace.abs().max() == pytest.approx(1.5)


def test_what_networks_show_that_were_held_at_three_traces():
    """The accuracy falls by two points for each e-fold of the function's trace, which is half of
    what the plain one moves; the control gains a point by the rest of its training.
    """
    models = []
    for kind, more in (("held", 0.0), ("last", 1.0)):
        for change in (-0.4, 0.0, 0.6):
            excess = 0.008 + 1e-4 * abs(change)
            models += rows(kind, change, excess, np.exp(2 * change), more - 2 * change)
    own = study_of(*models)
    own.table["function"], own.table["median"] = own.table.balanced**0.5, own.table.balanced
    own.table["position"] = 8  # no plan says which task is the main one
    for name in ("masked", "heads", "tuned"):
        own.table[name] = own.table.projected
    found = HeldEffects({"8 states": own})
    assert found.slopes().heads["8 states"].mean == pytest.approx(-2)
    assert found.slopes("last").masked["8 states"].mean == pytest.approx(-2)
    assert found.slopes(trace="median").masked["8 states"].mean == pytest.approx(-1)
    assert found.changes("held")["function"]["8 states", 0.6].mean == pytest.approx(0.6)
    assert found.change_table["taken at"].tolist() == ["one loss"] * 2 + ["same steps"] * 2
    assert found.slope_table.probe.tolist()[-1] == "fine-tuned"
    assert found.planes["8 states"].log_trace.abs().max() == pytest.approx(0.6)
    row = found.summary.loc["8 states"]
    assert (row.least, row.apart) == pytest.approx((0.6, 100 * 6e-5 / 0.8))
    assert row.level == pytest.approx(100 * 0.00804 / 0.8)
    assert (row.lowest, row.highest) == pytest.approx((1.0, 100 * 0.00806 / 0.8))
    odds = np.log(own.table.heads / (100 - own.table.heads))
    first = own.table[(own.table.kind == "held")].assign(odds=odds).groupby("strength").odds.mean()
    fall = np.polyfit(first.index, first, 1)[0]  # the changes are e-folds of the function's trace
    assert float(row.odds_heads.split()[0].replace("−", "-")) == pytest.approx(fall, abs=1e-3)
    assert (row.rest[:5], row.last_gain[:5], row.near_gain[:5]) == ("+1.00", "−1.20", "+0.80")
    assert (row.projected[:5], row.by_median_projected[:5]) == ("−2.00", "−1.00")
    of_one = own.table.eval("kind == 'held' and strength == 0.6 and seed == 1")
    own.table.loc[of_one, "function"] *= np.exp(-0.1)
    assert HeldEffects({"8 states": own}).summary.least["8 states"] == pytest.approx(0.5)


def test_the_drift_of_sgd_doubles_with_each_doubling_of_the_width():
    """Slope over trace doubles: 1, 2 and 4 times η² k / (4 B), and 32 times at width 1024."""
    widths = {}
    for width in (32, 64, 128):
        widths[width] = study_of(*rows("saturated", 0.0, 0.008, 1.0, 0.0))
        widths[width].table["slope"] = widths[width].table.trace * width / 32
    found = DriftBounds(widths, learning_rate=0.1, steps=8, batch_size=2)
    assert found.table.to_numpy() == pytest.approx(0.01 * np.array([[1, 2, 4]] * 3))
    assert found.growth == pytest.approx([2, 2])
    line = found.line(1024)
    assert (line.factor, line.log10.mean) == (pytest.approx(2), pytest.approx(np.log10(0.32)))
    assert found.if_growing_on(3) == pytest.approx(0.32)
    assert found.means[64].mean == pytest.approx(0.02)


def test_measured_over_predicted_is_a_mean_over_seeds():
    """At one learning rate 1 and 3 times, at another 1 time."""
    index = pd.MultiIndex.from_product([(0.1, 0.3), (0, 1)], names=["rate", "seed"])
    excess = pd.DataFrame({"predicted": 2.0, "measured": [2.0, 6.0, 2.0, 2.0]}, index=index)
    assert effects.sgd_ratios(excess).to_dict() == {0.1: 2.0, 0.3: 1.0}


def test_traces_of_functions_are_read_beside_the_longer_study_and_that_of_6_states(monkeypatch):
    joined = []
    monkeypatch.setattr(function_effects, "with_function_traces", lambda *both: joined.append(both))
    six, longer = study(), study()
    all_of = RecordedStudies(STUDY, longer, STUDY, STUDY, six, *[STUDY] * 3)
    found = function_effects.read_function_effects(all_of, lambda name: name)
    assert [*found.studies] == ["8 states", "6 states"]
    assert joined == [(longer, "penalized_traces_hmm8"), (six, "penalized_traces_hmm6")]
