import numpy as np
import pytest

from ntpcompanion.experiments.estimates import learning_curves as curves
from ntpcompanion.experiments.same_loss.pretraining import (
    CurvePoint,
    Plan,
    Result,
    run,
    train_and_measure,
)
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.recorded import Run
from tests.mlm.cases import SMALL, TRANSFORMER

TRAINING = TrainingPlan(8, 4)
COMMON = {"language": SMALL, "model": TRANSFORMER, "training": TRAINING}
PLAN = Plan(**COMMON, evaluations=1, also_at=(4,), sentences=50)


def result(kl, parameters):
    points = tuple(CurvePoint(step, 60.0 * step, None, 1.5, kl, 0.0005) for step in (0, 8))
    fields = {"device": "cpu", "parameters": parameters, "words": 9, "share_of_paper": 0.5}
    return Result(**COMMON, **fields, curve=points)


SATURATED, OTHER = result(0.00875, 7), result(0.00925, 5)  # two errors are 0.001, 0.01 is allowed


def test_points_of_all_models_stand_in_one_table():
    results = {"a": SATURATED, "b": OTHER}
    table = curves.curve_table(results)
    assert table.model.tolist() == ["a", "a", "b", "b"]
    assert table.saturated.tolist() == [True, True, False, False]
    assert table.loss.iloc[0] == 1.50875
    assert table["log KL"].iloc[-1] == pytest.approx(np.log(0.00925))
    ends = curves.end_table(results)
    assert ends.parameters.tolist() == [7, 5]
    assert ends["excess loss (nats)"].tolist() == [0.00875, 0.00925]


def test_a_run_is_repeated_with_other_seeds_of_language_and_training():
    first = run(PLAN)
    table = curves.halves_by_seed(PLAN, first, range(2))
    assert table.index.tolist() == [0, 1]
    kl = {point.step: point.kl for point in first.curve}
    assert table.loc[0].tolist()[:3] == [kl[4], kl[8], kl[4] / kl[8]]
    assert table.block.tolist() == pytest.approx([0, 0], abs=1e-12), "a block has one state"
    assert table.end[1] != table.end[0]


def test_recorded_runs_are_named_by_family_and_shape():
    recorded = curves.recorded_runs([Run(PLAN, SATURATED), Run(PLAN, OTHER)])
    assert recorded.language.tolist() == ["hmm", "hmm"]
    assert recorded.minutes.tolist() == [8.0, 8.0]
    assert recorded.saturated.tolist() == [True, False]
    name = f"transformer-{TRANSFORMER.width}x{TRANSFORMER.layers}"
    assert curves.recorded_table(recorded).to_numpy()[1].tolist() == [
        *["hidden Markov", name, 5, 8.0, 0.00925],
        *[0.0005, False],
    ]
    assert curves.recorded_curves(recorded[:1])[["model", "step"]].to_numpy().tolist() == [
        [name, 0],
        [name, 8],
    ]


def test_the_expectation_over_hidden_words_is_right():
    _, model = train_and_measure(PLAN)
    found = curves.drawn_minus_expected(model, PLAN, 1)
    assert found.replicates == 20 * 50
    assert abs(found.mean) < 4 * found.stderr < 0.2
