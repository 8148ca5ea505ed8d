import numpy as np
import pytest

from ntpcompanion.experiments.generalization import explanation_bounds
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

RIGHT = {"sizes": [20, 80], "samples": 3, "draws": 100, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(explanation_bounds, RIGHT)


def test_wide_explanations_of_coins_are_one_line_for_all(found):
    """Least squares on all coins, with equal weights; then the constants by their definition."""
    rng = stream(0, "coins 0 80")
    S, coins = rng.random((80, 1)), rng.choice([-1.0, 1.0], 80)
    new = rng.random((300, 1))
    guess = coins[abs(new - S.T).argmin(axis=1)]
    line = np.polynomial.Polynomial.fit(S[:, 0], coins, 1)
    fidelity = ((line(new[:, 0]) - guess) ** 2).mean()
    one = found.coins[1]
    assert (one.sample, one.m) == (0, 80)
    assert one.once == pytest.approx((2 - fidelity) * 80**0.5, rel=0.02)  # the overlap is 1
    assert one.twice == pytest.approx((2 - 2 * fidelity) * 80**0.5, abs=0.2)


def test_sizes_rise():
    for sizes in ([20, 20, 40], [40, 20]):
        with pytest.raises(ValueError, match="`sizes` must rise"):
            explanation_bounds.Plan.from_json(RIGHT | {"sizes": sizes})


def test_ratios_are_read_by_sample_size_and_width(found):
    ratios = [one.ratio for one in found.known]
    largest = [max(ratios[8 * i : 8 * i + 8]) for i in range(3)]
    assert found.largest_ratio.mean == pytest.approx(np.mean(largest))
    assert found.known[5].gap / found.known[5].overlap * 80**0.5 == pytest.approx(ratios[5])
    narrow = np.log(np.maximum(np.array(ratios).reshape(3, 2, 4)[..., 0], 1e-6))
    slopes = (narrow[:, 1] - narrow[:, 0]) / np.log(4)
    assert found.narrow_slope.mean == pytest.approx(slopes.mean())
    assert found.worst_twice == max(one.twice for one in found.coins)
    assert found.twice_constant.mean == pytest.approx(
        np.mean([max(one.twice for one in found.coins if one.sample == i) for i in range(3)])
    )
