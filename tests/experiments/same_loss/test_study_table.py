import numpy as np
import pandas as pd
import pytest

from ntpcompanion.experiments.same_loss import study_table as tables
from ntpcompanion.experiments.same_loss.downstream import Result, run
from ntpcompanion.experiments.same_loss.study_results import StudyModel, TaskAccuracies
from tests.experiments.study_cases import plan

SEEDS = (0, 1, 2)


def model(kind, strength, seed, excess, balanced, projected):
    found = TaskAccuracies(projected, projected, projected, 1e-6)
    tasks = {} if kind == "sgd" else {1: found}
    return StudyModel(kind, strength, seed, 32, excess, 1e-4, 2 * balanced, balanced, tasks)


def rows(kind, strength, excess, factor, points):
    return [
        model(kind, strength, s, excess, factor * (10 + s), 0.7 + 0.01 * s + points / 100)
        for s in SEEDS
    ]


MODELS = (
    *rows("saturated", 0.0, 0.008, 1.0, 0.0),
    *rows("sgd", 0.3, 0.05, 1.0, 0.0),
    *rows("penalty", -0.1, 0.009, np.exp(1.0), 1.5),
    *rows("penalty", 0.0, 0.010, 1.0, 0.5),
    *rows("penalty", 0.1, 0.030, np.exp(-1.0), -0.5),
)
TABLE = tables.study_table([Result(models=MODELS, references={}, device="cpu")], 0.8)


def test_a_row_holds_a_model_and_a_task():
    assert len(TABLE) == 15
    first = TABLE.iloc[0]
    assert (first.kind, first.seed, first.position) == ("saturated", 0, 1)
    assert first.share == pytest.approx(1.0)
    assert first.projected == pytest.approx(70.0)
    assert np.isnan(first.heads)
    assert TABLE[TABLE.kind == "sgd"].position.isna().all()


def test_a_model_that_two_records_hold_is_taken_once():
    result = Result(models=MODELS, references={}, device="cpu")
    pd.testing.assert_frame_equal(tables.study_table([result, result], 0.8), TABLE)


def test_a_change_is_paired_with_the_same_steps_without_the_penalty():
    effect = tables.change(TABLE, "penalty", -0.1, "projected", 1)
    assert (effect.mean, effect.replicates) == (pytest.approx(1.0), 3)
    assert effect.stderr == pytest.approx(0, abs=1e-10)
    against_start = tables.change(TABLE, "sgd", 0.3, "excess")
    assert against_start.mean == pytest.approx(0.042)


def test_log_ratios_and_slopes_recover_what_was_put_in():
    ratio = tables.log_ratio(TABLE, "penalty", -0.1, "balanced")
    assert ratio.mean == pytest.approx(1.0)
    slope = tables.slope_per_e_fold(TABLE, "penalty", [-0.1, 0.0, 0.1], "projected", 1)
    assert slope.mean == pytest.approx(1.0)


def test_only_saturated_arms_count_as_equal():
    assert tables.strengths_of(TABLE, "penalty") == [-0.1, 0.0, 0.1]
    assert tables.equal_loss(TABLE, "penalty") == [-0.1, 0.0]


def test_the_plane_leaves_out_the_origin():
    found = tables.plane(TABLE, ["penalty"], "projected", 1)
    assert sorted(found.strength.unique()) == [-0.1, 0.1]
    sharp = found[found.strength == -0.1]
    np.testing.assert_allclose(sharp.log_trace, 1.0)
    np.testing.assert_allclose(sharp.points, 1.0)


@pytest.mark.parametrize(("strength", "column"), [(0.4, "share"), (0.3, "projected")])
def test_what_was_not_measured_is_refused(strength, column):
    with pytest.raises(ValueError, match=f"`{column}` was not measured of the arm .*Known arms: "):
        tables.arm(TABLE, "sgd", strength, column, None if column == "share" else 1)


def test_runs_are_read_from_a_record():
    own = plan(references=False)
    result = run(own)
    task = {"parameters": own.to_json(), "result": result.to_json(), "seconds": 1.0}
    assert tables.read_study([task]) == [(own, result)]
    broken = {**task, "result": {**task["result"], "device": 3}}
    with pytest.raises(ValueError, match="`device`"):
        tables.read_study([broken])


def test_a_table_of_nothing_is_refused():
    with pytest.raises(ValueError, match="`results` must hold the result of a run, got no model"):
        tables.study_table([], 0.8)
