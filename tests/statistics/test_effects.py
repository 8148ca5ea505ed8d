import numpy as np
import pytest
from scipy import stats

from ntpcompanion.statistics.effects import (
    crossed_effect,
    mean_effect,
    paired_effect,
    slope_within_seeds,
    slopes_of_seeds,
)


def test_a_paired_effect_is_that_of_students_paired_test(rng):
    before = rng.normal(80, 5, 8)
    after = before + rng.normal(0.7, 0.4, 8)
    found, test = paired_effect(after, before), stats.ttest_rel(after, before)
    assert (found.mean / found.stderr, found.replicates) == (pytest.approx(test.statistic), 8)
    ends = test.confidence_interval(0.95)
    assert found.interval == pytest.approx((ends.low, ends.high))
    assert found.sd == pytest.approx(np.std(after - before, ddof=1))


def test_an_effect_as_numbers_of_a_text():
    effect = paired_effect(after=[61, 64, 63, 66], before=[60, 62, 62, 64])
    low, high = effect.interval
    assert float(effect) == effect.mean == 1.5
    assert effect.numbers("gain") == {
        "gain": 1.5,
        "gain_error": effect.stderr,
        "gain_low": low,
        "gain_high": high,
    }


def test_what_a_seed_does_to_both_runs_cancels(rng):
    """Seeds that differ by 50 points leave the error of the pairs, not the one between seeds."""
    before = rng.normal(0, 50, 8)
    found = paired_effect(before + [0.5, 1.5] * 4, before)
    assert found.mean == pytest.approx(1)
    assert found.stderr == pytest.approx(np.sqrt(8 / 7 / 4 / 8))


def test_slopes_are_those_of_lines_through_each_seed(rng):
    x, y = rng.normal(size=(6, 5)), rng.normal(size=(6, 5))
    slopes = [stats.linregress(*pair).slope for pair in zip(x, y, strict=True)]
    assert slopes_of_seeds(x, y) == pytest.approx(slopes)
    found = slope_within_seeds(x, y)
    assert (found.mean, found.stderr) == pytest.approx((np.mean(slopes), stats.sem(slopes)))
    assert (found.replicates, found.sd) == (6, pytest.approx(np.std(slopes, ddof=1)))


def test_differences_between_seeds_do_not_enter_a_slope(rng):
    """Inside each seed y falls by 2 per unit of x; over all points it rises."""
    centres = np.arange(5.0)[:, None] * 10
    x = centres + rng.normal(size=(5, 4))
    y = centres - 2 * (x - centres)
    assert stats.linregress(x.ravel(), y.ravel()).slope > 0.5
    found = slope_within_seeds(x, y)
    assert found.mean == pytest.approx(-2)
    assert found.sd < 1e-12


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: paired_effect([1.0], [2.0]),
            "`after` must hold at least two seeds, got .* One has",
        ),
        (lambda: paired_effect([1.0, 2.0], [2.0]), r"`before` must be a vector .* shape \(2\)"),
        (lambda: paired_effect([1.0, np.nan], [2.0, 1.0]), "`after` holds nan"),
        (lambda: slope_within_seeds([[1.0, 2.0]], [[1.0, 2.0]]), "`x` must hold at least two"),
        (lambda: crossed_effect(np.eye(3, 1)), "`values` must hold at least two seeds and two"),
        (lambda: slope_within_seeds(np.eye(2, 3), np.ones((2, 2))), "`y` must be a matrix"),
        (
            lambda: slope_within_seeds([[1, 2], [3, 3]], [[1, 2], [1, 2]]),
            "`x` must differ between at least two arms of each seed",
        ),
    ],
)
def test_what_has_no_effect_to_estimate_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_mean_is_that_of_students_test(rng):
    values = rng.normal(3, 1, 6)
    found, test = mean_effect(values), stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert found.interval == pytest.approx((test.low, test.high))
    assert found == paired_effect(values, np.zeros(6))


def test_a_crossed_effect_covers_the_mean_over_other_seeds_and_suites(rng):
    """Of 2,000 tables of seed + suite + error with mean 0, at least 94 % of the intervals hold it,
    whichever of the three is large.
    """
    for scales in ((1, 0.1, 1), (0.1, 1, 1), (1, 1, 0)):
        of_seed, of_suite, error = (
            scale * rng.normal(size=(2000, *shape))
            for scale, shape in zip(scales, [(6, 1), (1, 3), (6, 3)], strict=True)
        )
        ends = [crossed_effect(table).interval for table in of_seed + of_suite + error]
        assert np.mean([low < 0 < high for low, high in ends]) > 0.94


def test_equal_suites_leave_the_error_over_seeds(rng):
    values = rng.normal(size=6)
    found, over_seeds = crossed_effect(np.stack([values] * 3, 1)), mean_effect(values)
    assert found.interval == pytest.approx(over_seeds.interval)
    assert found.replicates == 6
    still = crossed_effect(np.ones((4, 2)))
    assert (still.mean, still.stderr, still.replicates) == (1, 0, 2)
