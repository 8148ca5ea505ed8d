import numpy as np
import pytest

from ntpcompanion.dyck import bracket_counting
from ntpcompanion.experiments.flatness import transfer_paths
from ntpcompanion.statistics import mean_effect
from tests.experiments.cases import check_wrong_fields, small_run

RIGHT = {"length": 4, "width": 64, "starts": 3, "draws": 400, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(transfer_paths, RIGHT)


def test_every_wrong_field_is_named():
    check_wrong_fields(transfer_paths.Plan, RIGHT, {"length": (5, "multiple of 2")})


def test_flows_end_at_the_bound_where_heads_count(found):
    assert all(1 - 1e-9 < path.ratio < path.ratio_before for path in found.paths)
    assert found.table.ratio.max() < 1.01
    assert found.counting == float(bracket_counting.expected_error(4, 8))
    alignment = found.table.set_index("sign").alignment
    assert alignment["fixed"] < 0.95 < alignment["random"]  # only there all flattest networks count
    assert found.error("random").mean == pytest.approx(found.counting, abs=0.02)


def test_errors_are_means_over_starts(found):
    errors = [path.error for path in found.paths[3:]]
    assert found.error("fixed") == mean_effect(errors)
    row = found.table.set_index("sign").loc["fixed"]
    assert row.error == pytest.approx(np.mean(errors))
    with pytest.raises(ValueError, match="`sign` must be one of 'random', 'fixed', got 'fix'"):
        found.error("fix")
