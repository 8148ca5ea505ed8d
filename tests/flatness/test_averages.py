import numpy as np
import pytest
import torch

from ntpcompanion.flatness.averages import at_rate_zero, mean_and_error


def test_the_mean_and_its_error():
    mean, error = mean_and_error(torch.tensor([[1.0, 2.0, 3.0, 6.0], [5.0, 5.0, 5.0, 5.0]]))
    assert mean.tolist() == [3, 5]
    assert error.tolist() == pytest.approx([(14 / 3) ** 0.5 / 2, 0])


def test_one_replica_has_no_error():
    with pytest.raises(ValueError, match="at least 2 replicas along its last axis for a standard error, got 1"):
        mean_and_error(torch.ones(3, 1))


def test_two_rates_leave_no_choice():
    """Twice the value at the smaller rate minus that at the larger, with errors in quadrature."""
    assert at_rate_zero([0.2, 0.1], [5.0, 4.0], [0.3, 0.1]) == pytest.approx((3.0, np.hypot(2 * 0.1, 0.3)))


def test_the_error_of_the_limit_is_right_over_repeats():
    rates, errors, rng = np.array([0.4, 0.2, 0.1, 0.05]), np.array([0.4, 0.1, 0.02, 0.02]), np.random.default_rng(0)
    found = [at_rate_zero(rates, 7 - 3 * rates + errors * rng.standard_normal(4), errors) for _ in range(2000)]
    limits, told = np.array(found).T
    assert told.std() < 1e-12
    assert abs(limits.mean() - 7) < 4 * told[0] / 2000**0.5
    assert limits.std() == pytest.approx(told[0], rel=0.06)


@pytest.mark.parametrize(
    ("rates", "values", "errors", "words"),
    [
        ([0.1, 0.1], [1, 2], [1, 1], "at least 2 different rates"),
        ([0.2, 0.1], [1, 2, 3], [1, 1], r"got shapes \(2,\), \(3,\) and \(2,\)"),
        ([0.2, 0.1], [1, 2], [1, 0], r"`errors` must be positive and finite, got \[1\.0, 0\.0\]"),
        ([0.2, 0.1], [1, 2], [1, np.nan], "`errors` must be positive and finite"),
    ],
)
def test_what_cannot_be_extrapolated(rates, values, errors, words):
    with pytest.raises(ValueError, match=words):
        at_rate_zero(rates, values, errors)
