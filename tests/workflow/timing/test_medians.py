import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, linregress, t

from ntpcompanion.workflow.timing.medians import exponent, median


@pytest.mark.parametrize("n", [1, 2, 5, 6, 9, 21, 60])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
def test_the_interval_is_the_narrowest_of_the_sign_test(n, confidence):
    found = median([float(k) for k in range(n, 0, -1)], confidence)
    # between order statistics k + 1 and n - k lies the median with probability P(k < B < n - k)
    covers = {k: binom.cdf(n - k - 1, n, 0.5) - binom.cdf(k, n, 0.5) for k in range((n + 1) // 2)}
    best = max((k for k, share in covers.items() if share >= confidence), default=0)
    assert (found.low, found.high) == (best + 1, n - best)
    assert found.covers == pytest.approx(max(covers[best], 0.0))
    assert found.value == (n + 1) / 2
    assert found.timings == n


def test_the_interval_covers_the_median_of_a_skewed_distribution_as_often_as_it_says(rng):
    draws = rng.lognormal(0.0, 2.0, (4000, 11))
    found = [median(row.tolist()) for row in draws]
    share = np.mean([each.low <= 1.0 <= each.high for each in found])
    error = math.sqrt(found[0].covers * (1 - found[0].covers) / len(found))
    assert abs(share - found[0].covers) < 4 * error


def test_no_timing_has_no_median():
    with pytest.raises(ValueError, match="`values` must hold at least one timing, got none"):
        median([])


def test_a_power_is_found_exactly():
    sizes = [10.0, 100.0, 1000.0]
    found = exponent(sizes, [3e-6 * size**1.5 for size in sizes])
    assert (found.value, found.low, found.high) == pytest.approx((1.5, 1.5, 1.5))


def test_the_interval_of_an_exponent_is_students(rng):
    sizes = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    seconds = sizes**2 * np.exp(0.3 * rng.standard_normal(5))
    ours, theirs = (
        exponent(sizes.tolist(), seconds.tolist()),
        linregress(np.log(sizes), np.log(seconds)),
    )
    assert ours.value == pytest.approx(theirs.slope)
    assert ours.high - ours.value == pytest.approx(t.ppf(0.975, 3) * theirs.stderr)


@pytest.mark.parametrize("sizes", [[1.0, 2.0], [2.0, 2.0, 2.0]])
def test_an_exponent_needs_three_sizes(sizes):
    with pytest.raises(ValueError, match="three different sizes"):
        exponent(sizes, list(itertools.repeat(1.0, len(sizes))))
