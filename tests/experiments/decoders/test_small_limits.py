import numpy as np
import pytest
from scipy.special import softmax

from ntpcompanion.experiments.decoders import small_limits
from ntpcompanion.linear.svm.planar_examples import planar_tables, widest_margin
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

pytestmark = pytest.mark.slow  # a run takes seconds; a notebook makes one at smoke
RIGHT = {"planes": 100, "steps": 200, "last_log_time": 1e4, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(small_limits, RIGHT)


def test_limits_are_those_derived_by_hand(found):
    assert found.offset == pytest.approx(np.log(8 / 27**0.5), abs=1e-3)
    angle = np.arctan2(np.log(3) / 2**0.5, 1000 * (2 / 3) ** 0.5)  # W* beside W^mm log t
    assert found.constant == pytest.approx(1e6 * (1 - np.cos(angle)), rel=1e-2)
    table, predicted = found.two_points, found.predicted
    assert table[0.1].iloc[-1] == pytest.approx(predicted[0.1].iloc[-1], rel=1e-2)
    late = table[0.0].iloc[-1], predicted[0.0].iloc[-1]
    assert found.degenerate == pytest.approx(late[0] / late[1])
    assert 1.5 < found.order < 2


def test_descent_in_the_plane_is_that_of_a_loop(found):
    table, solved = widest_margin(planar_tables(100, stream(0, "plane")))
    p, h = table.next_token / 3, table.embeddings
    W = stream(0, "plane start").standard_normal((5, 2)) / 2**0.5
    for _ in range(2000):
        W = W - 0.5 * (softmax(h @ W.T, axis=1) / 3 - p).T @ h
    excess, distance = found.walk.excess, found.by_decades[-1]
    assert excess[2000] == pytest.approx(table.excess(W), rel=1e-6)
    cosine = (W * solved.weights).sum() / np.linalg.norm(W) / np.linalg.norm(solved.weights)
    assert distance == pytest.approx(1 - cosine)
    late = excess[excess.index >= 200]
    slope = np.polyfit(np.log(late.index), np.log(late), 1)[0]
    assert found.power == pytest.approx(-slope)
    assert len(found.by_decades) == 4


def test_the_flow_is_the_sum_of_its_parts(found):
    held, rest, svm = map(np.array, (found.held, found.rest, found.svm))
    W = held[-1] + rest[-1] + found.log_times[-1] * svm
    cosine = (W * svm).sum() / np.linalg.norm(W) / np.linalg.norm(svm)
    off = found.off_limit.iloc[-1]
    assert np.hypot(*off) == pytest.approx(np.sqrt(1 - cosine**2), rel=1e-2)
    h, inside = np.array(found.contexts), np.array(found.support) == 1
    q = softmax(h @ W.T, axis=1)
    assert (q[~inside] < 1e-6).all()
    assert found.touched["finite"][3] == pytest.approx(held[3], abs=1e-6)
