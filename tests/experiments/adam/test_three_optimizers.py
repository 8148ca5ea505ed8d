import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from ntpcompanion.experiments.adam import three_optimizers
from ntpcompanion.experiments.adam.three_optimizers import Growth, Plan, Point, Result, run
from ntpcompanion.linear.dynamics.trajectory import stability_edge
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

SIZES = {"num_contexts": 4, "dim": 6, "vocab_size": 4, "support_size": 2}
PLAN = {**SIZES, "steps": 300, "long_steps": 400, "draws": 2, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(three_optimizers, PLAN)


def test_descent_written_out_ends_at_the_last_points(found):
    """GD and NGD of the second table, with the gradient of the cross-entropy by hand."""
    table = ContextTable.random(4, 4, 2, 6, stream(0, "table 1"))
    p, h = table.next_token * table.weight[:, None], table.embeddings
    start = stream(0, "start 1").standard_normal((4, 6)) / np.sqrt(6)
    for name, rate in (("GD", 0.5), ("NGD", 0.01)):
        W, effective, gradient = start, 0.0, 0.0
        for _ in range(301):
            W = W - effective * gradient
            gradient = (softmax(h @ W.T, axis=1) * table.weight[:, None] - p).T @ h
            effective = rate / np.linalg.norm(gradient) if name == "NGD" else rate
        loss = -(p * log_softmax(h @ W.T, axis=1)).sum()
        assert found.last("excess")[name][1] == pytest.approx(loss - table.entropy, rel=1e-6)
        assert found.last("norm")[name][1] == pytest.approx(np.linalg.norm(W), rel=1e-6)
        ratio = effective / stability_edge(table)
        assert found.last("of_edge")[name][1] == pytest.approx(ratio, rel=1e-6)
    assert list(found.first("norm", "one-hot")) == ["GD", "NGD"]
    assert found.first("norm", "long").index[-1] == 400


def test_rates_means_and_growths_are_those_of_planted_points():
    """Excess losses a / k² and angles b / k, whose factors differ from table to table."""
    points = [
        Point(
            kind="several",
            draw=draw,
            name=name,
            step=k,
            excess=(draw + 1) / max(k, 1) ** 2,
            norm=1.0,
            distance_rest=((draw + 1) / max(k, 1)) ** 2 / 2,
            finite_error=(draw + 1) / (1 + k),
            of_edge=None,
        )
        for draw in (0, 3)
        for name in ("Adam", "NGD", "GD")
        for k in (0, 1, 10, 50, 100)
    ]
    flows = {"GD": 0.01, "NGD": -0.01, "Adam": 0.02}
    growths = [
        Growth(draw=d, name=name, cosine=0.9, flow=0.9 + 2 * d * gap)
        for d in (0, 1)
        for name, gap in flows.items()
    ]
    result = Result(points=points, growths=growths, one_context=1.0)
    assert result.rate("several", "NGD", "excess").mean == pytest.approx(2)
    assert result.rate("several", "Adam", "angle").mean == pytest.approx(1)
    means = result.means("several", "excess")
    assert means["GD"].tolist() == pytest.approx([2 / k**2 for k in (1, 10, 50, 100)])
    assert list(result.first("norm")) == ["GD", "NGD", "Adam"]
    assert result.finite_left.mean == pytest.approx(1 / 101)
    assert result.behind["GD"].tolist() == pytest.approx([0, 0.02])
    assert result.adam_behind.mean == pytest.approx(0.02)
    assert result.own_flow.mean == pytest.approx(0.01)
    assert (result.faster("Adam", "NGD").mean, result.farther, result.lower.mean) == (0, 0, 0)
    assert result.slowest.mean == pytest.approx(1 - (1 / 100**2 + 16 / 100**2) / 4)
    assert result.growth.loc["GD"].tolist() == pytest.approx([0.1, 0.09, 0])


def test_rates_have_a_row_for_what_is_proved(found):
    table = found.rate_table
    assert found.rate_curves.shape[1] == 1 + 2 * (3 + 2)
    assert table.optimizer.tolist() == ["GD", "NGD", "Adam", "GD", "NGD"]
    low, high = found.rate("one-hot", "NGD", "angle").interval
    assert table.angle[4] == f"{low:.3g} to {high:.3g}"
    assert table.angle[2] == "–"
    assert found.at_edge.mean == pytest.approx(found.last("of_edge").NGD.mean())


def test_one_context_keeps_its_step_size_over_the_gradient(found):
    W, p = stream(0, "one context").standard_normal(3), np.array([0.75, 0.25, 0])
    for _ in range(300):
        W = W - 0.01 * (softmax(W) - p) / np.linalg.norm(softmax(W) - p)
    assert found.one_context == pytest.approx(0.01 / np.linalg.norm(softmax(W) - p))


def test_floors_of_the_three_laws_are_their_means():
    floors = three_optimizers.random_table_floors(0)
    flat = sum(1 / k for k in range(2, 7))  # ψ(7) − ψ(2)
    assert abs(floors["flat"].mean - flat) < 5 * floors["flat"].stderr
    assert floors["counted"].mean < floors["flat"].mean < floors["uniforms"].mean


def test_a_table_that_is_not_separable_is_named():
    with pytest.raises(ValueError, match="Table 0 of `seed` 0 is not separable"):
        run(Plan.from_json(PLAN | {"num_contexts": 20, "dim": 2}))
