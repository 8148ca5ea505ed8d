import numpy as np
import pytest
from scipy import stats

from ntpcompanion.workflow.checking.value_comparison import welch
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import half_widths


def of(value, stderr, replicates):
    return Measurement.of("a.b", value, stderr=stderr, replicates=replicates)


@pytest.mark.parametrize("replicates", [3, 5, 8])
def test_intervals_cover_what_they_promise(replicates, rng):
    """20,000 samples of a normal number: 95 % of the intervals hold its mean, within four standard
    errors (.6 points) of that share.
    """
    draws = rng.normal(size=(20_000, replicates))
    means, errors = draws.mean(1), draws.std(1, ddof=1) / replicates**0.5
    widths = half_widths(of(tuple(means), tuple(errors), replicates))
    assert np.mean(np.abs(means) <= widths) == pytest.approx(0.95, abs=0.01)
    assert np.mean(np.abs(means) <= 2 * errors) < (0.95 if replicates < 8 else 0.97), (
        "two standard errors do not"
    )


def test_the_test_is_that_of_scipy(rng):
    one, other = rng.normal(size=(4, 7)), rng.normal(0.5, 3, size=(4, 12))
    theirs = stats.ttest_ind(one, other, axis=1, equal_var=False).pvalue
    ours = welch(
        *(of(tuple(x.mean(1)), tuple(stats.sem(x, axis=1)), x.shape[1]) for x in (one, other))
    )
    assert ours == pytest.approx(theirs, rel=1e-10)


def test_against_an_exact_number_it_is_that_of_student(rng):
    draws = rng.normal(size=9)
    exact = Measurement.of("a.b", 0.25)
    theirs = stats.ttest_1samp(draws, 0.25).pvalue
    assert welch(of(draws.mean(), stats.sem(draws), 9), exact)[0] == pytest.approx(
        theirs, rel=1e-10
    )


def test_a_number_without_error_among_others_moved_or_did_not():
    assert welch(of((1.0, 2.0), (0.0, 0.5), 5), of((1.0, 2.0), (0.0, 0.5), 5)) == (1.0, 1.0)
    assert welch(of((1.0, 2.0), (0.0, 0.5), 5), of((1.5, 2.0), (0.0, 0.5), 5)) == (0.0, 1.0)


def test_tiny_and_huge_errors_do_not_overflow():
    for scale in (1e-200, 1e150):
        (p,) = welch(of(0.0, scale, 5), of(2 * scale, scale, 5))
        assert p == pytest.approx(stats.t.sf(2**0.5, 8) * 2)
