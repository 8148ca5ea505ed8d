import numpy as np
import pytest
from scipy.special import softmax

from ntpcompanion.experiments.geometry import factor_starts
from ntpcompanion.experiments.geometry.factor_starts import Plan
from ntpcompanion.geometry import solve_nuclear_svm
from ntpcompanion.randomness import stream
from tests.experiments.cases import check_wrong_fields, small_run
from tests.experiments.geometry.test_ridge_tables import RIGHT as SHAPE
from tests.experiments.geometry.test_ridge_tables import SHAPE_WRONG

RIGHT = {name: value for name, value in SHAPE.items() if name != "decades"} | {"steps": 40}


def test_more_successors_than_words_are_named():
    check_wrong_fields(Plan, RIGHT, SHAPE_WRONG)


found, test_a_result_repeats_and_is_plain = small_run(factor_starts, RIGHT)


@pytest.mark.parametrize(("name", "scale"), [("GD, small start", 0.1), ("GD, large start", 1.0)])
def test_gradient_descent_ends_where_a_loop_does(found, name, scale):
    plan = Plan.from_json(RIGHT)
    p, rng = plan.next_token(0), stream(0, "start 0")
    H, W = (scale * rng.standard_normal((size, 6)) for size in (8, 6))
    for _ in range(40):
        slope = (softmax(H @ W.T, axis=1) - p) / 8
        H, W = H - 2 * slope @ W, W - 2 * slope.T @ H
    L, limit = H @ W.T, solve_nuclear_svm(p > 0, tol=1e-8).logits
    cosine = (L * limit).sum() / np.linalg.norm(L) / np.linalg.norm(limit)
    assert found.cosines[name][0] == pytest.approx(cosine)


def test_ends_are_compared_with_each_other_and_with_a_path(found):
    near = found.cosines
    gained = near["GD, small start"] - near["GD, large start"]
    assert found.small_start("GD").mean == pytest.approx(gained.mean())
    path = near["GD, large start"].rename("path")
    assert found.ahead("GD, small start", path).mean == pytest.approx(gained.mean())
    beside = found.beside(path).set_index("run")["minus the path"]
    assert beside["GD, small start"].tolist() == pytest.approx(gained.tolist())
