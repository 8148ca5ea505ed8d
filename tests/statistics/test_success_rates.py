import numpy as np
import pytest
from scipy.stats import beta

from ntpcompanion.statistics import count_successes


@pytest.mark.parametrize(("succeeded", "runs"), [(0, 5), (3, 5), (5, 5), (1, 1)])
def test_the_fraction_is_that_of_the_posterior_and_the_interval_exact(succeeded, runs):
    found = count_successes([True] * succeeded + [False] * (runs - succeeded))
    posterior = beta(succeeded + 0.5, runs - succeeded + 0.5)
    assert found.mean == pytest.approx(posterior.mean())
    assert found.stderr == pytest.approx(posterior.std())
    low = beta(succeeded, runs - succeeded + 1).ppf(0.025) if succeeded else 0
    high = beta(succeeded + 1, runs - succeeded).ppf(0.975) if succeeded < runs else 1
    assert found.interval == pytest.approx((low, high))


@pytest.mark.usefixtures("unchecked_shapes")
def test_truth_values_of_numpy_count():
    assert count_successes(np.array([True, False])).succeeded == 1


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("runs", "got"), [([], "an empty list"), ([1, 0], "1"), ([True, None], "None")]
)
def test_what_is_no_outcome_is_refused(runs, got):
    with pytest.raises(ValueError, match=rf"`runs`.*{got}"):
        count_successes(runs)
