import numpy as np
import pytest

from ntpcompanion.experiments.thresholds import phase
from ntpcompanion.experiments.thresholds.crossing_limits import read_crossings
from ntpcompanion.linear.thresholds.threshold import predicted_threshold
from ntpcompanion.recorded import Run


def task(num_contexts, sizes, first):
    """A recorded run whose draws become separable at the dimensions `first`."""
    plan = {"vocab_size": 4, "support_sizes": sizes, "draws": len(first), "seed": 0}
    sides, draws = np.unique(first, return_counts=True)
    result = {"not_separable_to": (sides - 1).tolist(), "separable_from": sides.tolist()}
    plan = phase.Plan.from_json({**plan, "num_contexts": num_contexts})
    return Run(plan, phase.Result.from_json({**result, "draws": draws.tolist()}))


TASKS = [
    task(10, [1], [4, 5, 5, 6]),
    task(20, [1], [8, 9, 9, 10, 11]),
    task(40, [1], [15, 17, 18, 21]),
    task(10, [1, 2], [6, 7, 7, 8]),
    task(20, [1, 2], [12, 13, 13, 14]),
    task(40, [1, 2], [24, 25, 25, 26]),
]


@pytest.fixture(scope="module")
def found():
    return read_crossings(TASKS)


def test_rows_are_crossings_less_predictions(found):
    assert found.table.sizes.tolist() == ["S = 1"] * 3 + ["S = 1, 2"] * 3
    assert found.table.mixed.tolist() == [False] * 3 + [True] * 3
    assert found.replicates == 4
    sample = TASKS[1].result.sample(20)
    row = found.table.iloc[1]
    assert row.gap == pytest.approx(sample.crossing - predicted_threshold(4, 1))
    assert (row.error, row.undecided) == (sample.stderr, 0)
    assert list(found.samples) == [(4, 1, 10), (4, 1, 20), (4, 1, 40)]


def test_limits_are_those_of_weighted_least_squares(found):
    """The normal equations, written out."""
    rows = found.table[~found.table.mixed]
    design = np.stack([1 / rows.m, np.ones(3)], axis=1) / rows.error.to_numpy()[:, None]
    covariance = np.linalg.inv(design.T @ design)
    slope, limit = covariance @ design.T @ (rows.gap / rows.error)
    row = found.limits.loc["S = 1"]
    assert (row.contexts, row.limit) == (pytest.approx(slope), pytest.approx(limit))
    errors = np.sqrt(np.diag(covariance))
    assert [row["± contexts"], row["± limit"]] == pytest.approx(errors)
    left = (rows.gap - limit - slope / rows.m) / rows.error
    assert row["χ²"] == pytest.approx((left**2).sum())
    farthest = found.farthest_limit(mixed=False)
    assert (farthest.mean, farthest.replicates) == (pytest.approx(abs(limit)), 4)
    assert found.limits_of(mixed=True).index.tolist() == ["S = 1, 2"]


def test_the_order_of_the_drift_is_a_slope_of_logarithms(found):
    drift, rows = found.drift, found.table[~found.table.mixed]
    assert drift.index.tolist() == [10, 20, 40]
    assert drift.gap.tolist() == rows.gap.tolist()  # of a single kind
    assert drift.error.tolist() == pytest.approx(rows.error.tolist())
    x, y, w = -np.log(drift.index), np.log(drift.gap), (drift.gap / drift.error) ** 2
    x_mean, y_mean = (w * x).sum() / w.sum(), (w * y).sum() / w.sum()
    slope = (w * (x - x_mean) * (y - y_mean)).sum() / (w * (x - x_mean) ** 2).sum()
    assert found.drift_order.mean == pytest.approx(slope)
    assert found.drift_order.stderr == pytest.approx((w * (x - x_mean) ** 2).sum() ** -0.5)
