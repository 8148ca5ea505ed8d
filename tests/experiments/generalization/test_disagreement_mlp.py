import pytest

from ntpcompanion.experiments.generalization import disagreement_mlp
from ntpcompanion.experiments.generalization.disagreement_mlp import (
    ARMS,
    Plan,
    _examples,
    printed_table,
    read_ensembles,
    run,
)
from ntpcompanion.recorded import Run
from tests.experiments.cases import small_run

RIGHT = {"task": {"examples": 100, "inputs": 4, "classes": 3}, "models": 3, "hidden": 16}
RIGHT |= {"epochs": 10, "batch_size": 20, "learning_rate": 0.05, "tested": 200, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(disagreement_mlp, RIGHT)


def test_each_source_of_randomness_has_its_ensemble(found):
    assert tuple(one.differ_in for one in found.ensembles) == ARMS
    assert all(one.disagreement > 0 for one in found.ensembles)
    assert all(abs(one.gap) <= one.calibration_error / 2 + 1e-12 for one in found.ensembles)
    assert found.ensembles[0].training_error < 0.3  # guessing: about 0.6


def test_networks_that_differ_in_nothing_agree():
    plan = Plan.from_json(RIGHT | {"batch_size": 100})  # one batch: its order does not matter
    order = run(plan).ensembles[2]
    assert order.disagreement < 0.02


def test_the_teacher_is_one_for_all_draws():
    plan = Plan.from_json(RIGHT)
    (x, labels), (y, others) = (_examples(plan, name, 50) for name in ("data 0", "data 1"))
    assert (x != y).all()
    assert labels.max() <= 2
    again, same = _examples(plan, "data 0", 50)
    assert (again == x).all()
    assert (same == labels).all()
    assert (labels != others).any()


def test_recorded_ensembles_are_rows_and_their_ratios_means_over_seeds(found):
    other = run(Plan.from_json(RIGHT | {"seed": 1}))
    tasks = [
        Run(Plan.from_json(RIGHT | {"seed": seed}), result)
        for seed, result in enumerate((found, other))
    ]
    read = read_ensembles(tasks)
    table = read.table
    assert table.task.unique().tolist() == ["n = 100, d = 4, 3 classes"]
    assert table.seed.tolist() == [0, 0, 0, 1, 1, 1]
    assert table.cace.tolist()[:3] == [one.calibration_error for one in found.ensembles]
    (ratio,) = read.ratios("start")
    first, second = (one.ensembles[1] for one in (found, other))
    assert ratio.mean == pytest.approx(
        (first.disagreement / first.error + second.disagreement / second.error) / 2
    )
    assert read.largest("start") == ratio
    assert read.farthest == read.ratios("data")[0]
    assert read.ends["low_start"] == read.ends["high_start"] == ratio.mean
    assert printed_table().ratio.round(2).tolist() == [0.55, 0.53, 0.61, 0.65]
