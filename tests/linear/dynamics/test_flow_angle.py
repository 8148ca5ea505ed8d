import numpy as np
import pytest

from ntpcompanion.linear.dynamics.alignment import measure_alignment
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.dynamics.flow_angle import predict_distance
from ntpcompanion.linear.separability.compatibility import check_compatibility
from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.svm.complementarity import tilted_pair
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import table as table_of


@pytest.mark.parametrize("seed", [0, 1])
def test_one_decoder_predicts_the_angles_of_all_later_ones(seed):
    table = ContextTable.random(6, 5, 2, 7, np.random.default_rng(seed))
    w_mm = solve_ntp_svm(table, tol=1e-12).weights
    times = np.array([1e3, 1e4, 1e5])
    weights = gradient_flow(table, times).weights
    measured = measure_alignment(table, weights, w_mm).distance
    predicted = predict_distance(table, weights[0], 1e3, w_mm, times[1:])
    np.testing.assert_allclose(measured[1:], predicted, rtol=0.01)


def test_it_is_the_angle_of_the_sum_to_leading_order(rng):
    """W* + ρ + W^mm log t, put together here; what the decoder has instead of W* does not count."""
    table = ContextTable.random(6, 5, 2, 7, rng)
    w_mm = solve_ntp_svm(table, tol=1e-12).weights
    offset = rng.standard_normal(w_mm.shape)
    offset -= project_onto_F(table, offset)
    later = 1e7 * w_mm + check_compatibility(table).finite_part + offset
    wrong = project_onto_F(table, rng.standard_normal(w_mm.shape))
    early = 50.0 * w_mm + wrong + offset
    (predicted,) = predict_distance(table, early, 50.0, w_mm, [1e7])
    assert measure_alignment(table, later, w_mm).distance[0] == pytest.approx(predicted, rel=1e-5)


def test_errors_say_what_to_do():
    pair, W = tilted_pair(0.5), np.eye(2)
    with pytest.raises(ValueError, match="`log_time` must be positive"):
        predict_distance(pair, W, 0.0, W, [1.0])
    with pytest.raises(ValueError, match="`later` must be positive and finite, got -1"):
        predict_distance(pair, W, 1.0, W, [1.0, -1.0])
    clash = table_of([[1.0], [1.0]], [[1, 2, 0], [2, 1, 0]])
    with pytest.raises(ValueError, match="`table` must be compatible, for W"):
        predict_distance(clash, np.ones((3, 1)), 1.0, np.ones((3, 1)), [2.0])
