import numpy as np
import pandas as pd
import pytest

from ntpcompanion.experiments.same_loss import recorded_study as tables
from ntpcompanion.experiments.same_loss.downstream import Result, run
from ntpcompanion.experiments.same_loss.study_model import (
    StudyModel,
    TaskAccuracies,
    TaskReferences,
)
from ntpcompanion.mlm.evaluation.context_ablation import ContextGaps, context_gaps
from ntpcompanion.recorded import Run
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


def study_of(*models, gap=0.8, **fields):
    result = Result(models=models, references={}, device="cpu")
    return tables.Study(tables.study_table([result], gap), **fields)


ALONE = TaskAccuracies(0.6, 0.6, 0.6, 1e-6)
STUDY = study_of(*MODELS, references={1: TaskReferences(0.1, 0.9, ALONE, ALONE)})
TABLE = STUDY.table


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


def test_an_effect_is_paired_with_the_same_steps_without_the_penalty():
    effect = STUDY.effect("penalty", "projected", 1, -0.1)
    assert (effect.mean, effect.replicates) == (pytest.approx(1.0), 3)
    assert effect.stderr == pytest.approx(0, abs=1e-10)
    assert STUDY.effect("sgd", "excess", strength=0.3).mean == pytest.approx(0.042)
    assert STUDY.effect("lookup").mean == pytest.approx(60 - 71)


def test_effects_on_traces_and_slopes_recover_what_was_put_in():
    effects = STUDY.effects("penalty", ["balanced", "projected"], [-0.1, 0.1])
    means = effects.map(lambda effect: effect.mean)
    np.testing.assert_allclose(means, [[1.0, 1.0], [-1.0, -1.0]])
    assert STUDY.slope("penalty", "projected", [-0.1, 0.0, 0.1]).mean == pytest.approx(1.0)
    odds = STUDY.slope("penalty", "projected", [-0.1, 0.1], odds=True)
    ends = [STUDY.arm("penalty", weight, "projected") / 100 for weight in (-0.1, 0.1)]
    log_odds = [np.log(accuracy / (1 - accuracy)) for accuracy in ends]
    assert odds.mean == pytest.approx((log_odds[0] - log_odds[1]).mean() / 2)
    with pytest.raises(ValueError, match="`strengths` must hold at least two, for a slope, got 1"):
        STUDY.slope("penalty", strengths=[0.0])


def test_arms_at_equal_loss_are_taken_if_none_is_named():
    assert STUDY.strengths("penalty") == [-0.1, 0.0, 0.1]
    assert STUDY.equal_loss("penalty") == [-0.1, 0.0]
    assert STUDY.effects("penalty", ["projected"]).index.tolist() == [-0.1]
    assert STUDY.slope("penalty").mean == pytest.approx(1.0)
    with pytest.raises(ValueError, match="`kind` = 'sgd' has no arm at equal loss"):
        STUDY.effect("sgd", "share")


def test_studies_are_cut_joined_and_compared():
    flat, sharp = STUDY.select("strength >= 0"), STUDY.select("strength < 0")
    assert sorted(flat.joined(sharp).table.index) == sorted(TABLE.index)
    other = study_of(*rows("saturated", 0.0, 0.008, np.exp(2.0), 3.0))
    assert other.lead(STUDY).mean == pytest.approx(3.0)
    assert other.lead(STUDY, "trace").mean == pytest.approx(2.0)


def test_leverage_is_how_far_the_slope_follows_an_arm():
    """If an arm's accuracy rises by one point, the slope changes by (x - mean) / Σ (x - mean)²."""
    every = tables.Study(TABLE, equal_share=10.0)
    assert every.leverage("penalty") == pytest.approx({-0.1: 0.5, 0.0: 0.0, 0.1: 0.5})
    far = study_of(
        *rows("penalty", -0.1, 0.01, np.exp(5.0), 0.0),
        *rows("penalty", 0.0, 0.01, 1.0, 0.0),
        *rows("penalty", 0.1, 0.01, np.exp(-0.5), 0.0),
    )
    assert far.leverage("penalty")[-0.1] == pytest.approx(0.66, abs=0.01)


def test_the_plane_leaves_out_the_origin_and_larger_losses():
    found = STUDY.plane(["penalty"])
    assert found.strength.unique().tolist() == [-0.1]
    np.testing.assert_allclose(found.log_trace, 1.0)
    np.testing.assert_allclose(found.points, 1.0)


@pytest.mark.parametrize(("strength", "column"), [(0.4, "share"), (0.3, "projected")])
def test_what_was_not_measured_is_refused(strength, column):
    with pytest.raises(ValueError, match=f"`{column}` was not measured of the arm .*Known arms: "):
        STUDY.arm("sgd", strength, column)


def test_runs_are_read_from_a_record():
    own = plan(references=False)
    result = run(own)
    task = Run(own, result)
    gaps = ContextGaps(1.0, 0.0, 1.5, 1.5, 1.2, 0.0)
    study = tables.read_study([task], gaps)
    assert (study.plan, study.position) == (own, own.suite.places[0])
    pd.testing.assert_frame_equal(study.table, tables.study_table([result], 0.5))
    drawn = tables.read_study([task], sentences=200, seed=1)
    assert drawn.gaps == context_gaps(own.language.build(), 200, 1)
    for other in (Run(own, own), {"plan": own, "result": result}):
        with pytest.raises(ValueError, match="`tasks` must hold runs of `downstream`, got "):
            tables.read_study([task, other])
    with pytest.raises(ValueError, match="`tasks` must hold a task of a record, got none"):
        tables.read_study([])


def test_a_table_of_nothing_is_refused():
    with pytest.raises(ValueError, match="`results` must hold the result of a run, got no model"):
        tables.study_table([], 0.8)
