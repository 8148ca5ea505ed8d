import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from ntpcompanion.experiments.decoders import flow_limits
from ntpcompanion.linear import check_compatibility, solve_ntp_svm
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

RIGHT = {"num_contexts": 5, "dim": 7, "vocab_size": 4, "support_size": 2, "steps": 200}
RIGHT |= {"draws": 2, "last_log_time": 1e4, "num_radii": 4, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(flow_limits, RIGHT, long=True)


def descended(table, rate, start, steps=200):
    """Gradient descent on the cross-entropy, written out."""
    p, h = table.next_token * table.weight[:, None], table.embeddings
    for _ in range(steps):
        start = start - rate * (softmax(h @ start.T, axis=1) * table.weight[:, None] - p).T @ h
    return start, -(p * log_softmax(h @ start.T, axis=1)).sum() - table.entropy


def test_descent_ends_where_a_loop_does(found):
    table = found.plan.table(0)
    start = stream(0, "start 0").standard_normal((4, 7)) / np.sqrt(7)
    W, _ = descended(table, found.bound, start)
    mm, finite = solve_ntp_svm(table, tol=1e-12).weights, check_compatibility(table).finite_part
    cosine = (W * mm).sum() / np.linalg.norm(W) / np.linalg.norm(mm)
    assert found.descended["distance"][-1] == pytest.approx(1 - cosine)
    assert found.descended["norm"][-1] == pytest.approx(np.linalg.norm(W))
    inner, outer = (found.descended[name][-1] for name in ("inner", "outer"))
    assert np.hypot(inner, outer) == pytest.approx(np.linalg.norm(W))
    assert abs(inner - np.linalg.norm(finite)) <= found.descended["finite_error"][-1] + 1e-9
    assert found.at_four("norm")[-1] == found.descended["norm"][-1]


def test_losses_beyond_the_edge_are_those_of_a_loop(found):
    start = stream(0, "start 1").standard_normal((4, 7)) / np.sqrt(7)
    table = found.plan.table(1)
    curvature = flow_limits.stability_edge(table)
    for share, excess in zip(flow_limits.COMPARED, found.excess[1], strict=True):
        assert excess == pytest.approx(descended(table, share * curvature, start)[1], rel=1e-6)
    logs = [np.log(min(row[1:]) / row[0]) for row in found.excess]
    assert found.lost.mean == pytest.approx(np.mean(logs))
    assert list(found.longer) == sorted(found.longer, reverse=True)


def test_the_key_inequality_holds_later_the_smaller_alpha_is(found):
    assert list(found.broken) == sorted(found.broken)
    small = np.array(found.broken)[[2, 3, 4, 5]]
    slope = np.polyfit(np.log(flow_limits.ALPHAS[2:]), np.log(small), 1)[0]
    assert found.key_power == pytest.approx(-slope)
    assert 1 <= found.printed <= 2**0.5
