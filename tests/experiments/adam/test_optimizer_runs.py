import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from ntpcompanion.experiments.adam import optimizer_runs
from ntpcompanion.experiments.adam.optimizer_runs import Growth, Plan, Point, Result, run
from ntpcompanion.linear.dynamics.trajectory import stability_edge
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

SIZES = {"num_contexts": 4, "dim": 6, "vocab_size": 4, "support_size": 2}
PLAN = {**SIZES, "steps": 300, "long_steps": 400, "draws": 2, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(optimizer_runs, PLAN)


def test_descent_written_out_ends_at_the_last_points(found):
    """GD and NGD of the second table, with the gradient of the cross-entropy by hand."""
    table = ContextTable.random(4, 4, 2, 6, stream(0, "table 1"))
    p, h = table.next_token * table.weight[:, None], table.embeddings
    start = stream(0, "start 1").standard_normal((4, 6)) / np.sqrt(6)
    for name, rate in (("GD", 0.5), ("NGD", 0.01)):
        W, effective = start, 0.0
        for k in range(301):
            W = W - effective * gradient if k else W
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
    growths = [Growth(draw=d, name="GD", cosine=0.9, flow=0.9 + 0.01 * d) for d in (0, 1)]
    result = Result(points=points, growths=growths)
    assert result.rate("several", "NGD", "excess").mean == pytest.approx(2)
    assert result.rate("several", "Adam", "angle").mean == pytest.approx(1)
    means = result.means("several", "excess")
    assert means["GD"].tolist() == pytest.approx([2 / k**2 for k in (1, 10, 50, 100)])
    assert list(result.first("norm")) == ["GD", "NGD", "Adam"]
    assert result.finite_left.mean == pytest.approx(1 / 101)
    assert result.behind["GD"].tolist() == pytest.approx([0, 0.01])
    assert result.growth.loc["GD"].tolist() == pytest.approx([0.1, 0.095, 0])


def test_a_table_that_is_not_separable_is_named():
    with pytest.raises(ValueError, match="Table 0 of `seed` 0 is not separable"):
        run(Plan.from_json(PLAN | {"num_contexts": 20, "dim": 2}))
