import numpy as np
import pytest

from ntpcompanion.dyck import bracket_counting, masked_support, memoriser
from ntpcompanion.experiments.flatness import transfer_paths
from ntpcompanion.statistics import mean_effect
from tests.experiments.cases import check_wrong_fields, small_run

RIGHT = {"length": 4, "width": 64, "starts": 3, "draws": 400, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(transfer_paths, RIGHT)


def test_every_wrong_field_is_named():
    check_wrong_fields(transfer_paths.Plan, RIGHT, {"length": (5, "multiple of 2")})


def test_flows_end_at_the_bound_and_move_memorizers_by_little(found):
    assert all(1 - 1e-9 < path.ratio < path.ratio_before for path in found.paths)
    assert found.table.ratio.max() < 1.01
    inputs, _ = masked_support(4, "fixed")
    exact = memoriser(4).parameters(inputs.sum(axis=1))
    rng = np.random.default_rng(0)
    expected = bracket_counting.learning_curve(exact, [8], 4000, rng).error[0]
    assert found.error("fixed", "memorizer").mean == pytest.approx(expected, abs=0.1)
    assert found.counting == float(bracket_counting.expected_error(4, 8))


def test_errors_are_means_over_starts(found):
    errors = [path.error for path in found.paths[3:6]]
    assert found.error("fixed", "features") == mean_effect(errors)
    with pytest.raises(ValueError, match=r"must be one of \('random', 'features'\), .*, got"):
        found.error("random", "memorizer")
    row = found.table.set_index(["sign", "start"]).loc["fixed", "features"]
    assert row.error == pytest.approx(np.mean(errors))


def test_memorizers_that_are_moved_too_far_are_said():
    changes = {"length": 6, "width": 160, "noise": 0.1, "draws": 20}
    plan = transfer_paths.Plan.from_json(RIGHT | changes)
    with pytest.raises(RuntimeError, match="no point of zero loss was reached"):
        transfer_paths.run(plan)
