from ntpcompanion.experiments.generalization import hyperspheres
from ntpcompanion.experiments.generalization.hyperspheres import Plan, errors_table, run
from ntpcompanion.recorded import Run
from tests.experiments.cases import small_run

RIGHT = {"sizes": [[20, 40], [10, 30]], "width": 50, "learning_rate": 0.5, "batch_size": 16}
RIGHT |= {"margin": 0.5, "epochs": 200, "held_out": 300, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(hyperspheres, RIGHT)


def test_an_arm_does_not_depend_on_the_others(found):
    assert run(Plan.from_json(RIGHT | {"sizes": [[10, 30]]})).arms == found.arms[1:]


def test_recorded_errors_have_a_row_for_each_seed_and_a_column_for_each_pair(found):
    task = Run(Plan.from_json(RIGHT), found)
    table = errors_table([task, task], "moved_error")
    assert table.columns.tolist() == [(20, 40), (10, 30)]
    assert table[10, 30].tolist() == [found.arms[1].moved_error] * 2
