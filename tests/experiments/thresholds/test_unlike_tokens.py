import numpy as np
import pytest

from ntpcompanion.experiments.thresholds import unlike_tokens, weighted_tokens
from ntpcompanion.experiments.thresholds.unlike_tokens import WEIGHTS
from ntpcompanion.recorded import Run
from tests.experiments.cases import recorded, small_run

RIGHT = {"draws": 60, "iterations": 2, "repeats": 2, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(unlike_tokens, RIGHT)


def test_bounds_are_half_the_summed_frequencies_of_two_tokens(found):
    for name, weights in WEIGHTS.items():
        one, two = sorted(np.array(weights) / sum(weights))[-2:]
        assert found.table.loc[f"{name}, S = 1", "two tokens"] == pytest.approx((one + two) / 2)
    assert (found.table.predicted == found.table[["saddle", "two tokens"]].max(axis=1)).all()


def test_recorded_runs_stand_beside_their_predictions(found):
    runs = recorded(weighted_tokens, "weighted_tokens")
    comparison = found.compare(runs)
    table = comparison.table
    assert not table.isna().any(axis=None)
    assert comparison.replicates == 40
    # two points determine the line through them
    first = unlike_tokens._row(runs[0])
    last = table.loc["one frequent, S = 1"]
    assert (first["supports"], first["m"]) == ("one frequent, S = 1", 40)
    slope = (first["crossing"] - last["m = 160"]) / (1 / 40 - 1 / 160)
    assert last["limit"] == pytest.approx(last["m = 160"] - slope / 160)
    x, y = table.predicted - table["if alike"], table["limit"] - table["if alike"]
    fit, covariance = np.polyfit(
        np.append(x, -x), np.append(y, -y), 1, w=np.tile(1 / table["± "], 2), cov="unscaled"
    )
    assert comparison.slope.mean == pytest.approx(fit[0])  # symmetric points: no intercept
    assert comparison.slope.stderr == pytest.approx((2 * covariance[0, 0]) ** 0.5)


def test_runs_with_other_weights_are_rejected(found):
    plan = {"num_contexts": 40, "token_weights": [2, 1, 1], "support_size": 1, "draws": 2}
    plan = weighted_tokens.Plan.from_json({**plan, "seed": 0})
    result = {"not_separable_to": [3], "separable_from": [4], "draws": [2]}
    with pytest.raises(ValueError, match=r"one of `WEIGHTS`, got \[2.0, 1.0, 1.0\]"):
        found.compare([Run(plan, weighted_tokens.Result.from_json(result))])
