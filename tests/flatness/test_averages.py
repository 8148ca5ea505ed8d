import numpy as np
import pytest
import torch

from ntpcompanion.flatness.averages import at_rate_zero, exponent, mean_and_error, ratio_of_means


def test_the_mean_and_its_error():
    mean, error = mean_and_error(torch.tensor([[1.0, 2.0, 3.0, 6.0], [5.0, 5.0, 5.0, 5.0]]))
    assert mean.tolist() == [3, 5]
    assert error.tolist() == pytest.approx([(14 / 3) ** 0.5 / 2, 0])


def test_two_rates_leave_no_choice():
    """Twice the value at the smaller rate minus that at the larger, with errors in quadrature."""
    assert at_rate_zero([0.2, 0.1], [5.0, 4.0], [0.3, 0.1]) == pytest.approx(
        (3.0, np.hypot(2 * 0.1, 0.3))
    )


def test_the_error_of_the_limit_is_right_over_repeats():
    rates, errors, rng = (
        np.array([0.4, 0.2, 0.1, 0.05]),
        np.array([0.4, 0.1, 0.02, 0.02]),
        np.random.default_rng(0),
    )
    found = [
        at_rate_zero(rates, 7 - 3 * rates + errors * rng.standard_normal(4), errors)
        for _ in range(2000)
    ]
    limits, told = np.array(found).T
    assert told.std() < 1e-12
    assert abs(limits.mean() - 7) < 4 * told[0] / 2000**0.5
    assert limits.std() == pytest.approx(told[0], rel=0.06)


@pytest.mark.parametrize(
    ("rates", "values", "errors", "words"),
    [
        ([0.1, 0.1], [1, 2], [1, 1], "`rates`"),
        ([0.2, 0.1], [1, 2], [1, 0], "`errors`"),
    ],
)
def test_what_cannot_be_extrapolated(rates, values, errors, words):
    with pytest.raises(ValueError, match=words):
        at_rate_zero(rates, values, errors)


def test_the_exponent_of_a_power_of_two_points():
    """From 5 to 40 over a factor of two: the third power, with relative errors in quadrature over
    log 2.
    """
    found = exponent([1.0, 2.0], [5.0, 40.0], [0.1, 1.2])
    assert found == pytest.approx((3.0, np.hypot(0.02, 0.03) / np.log(2)))


def test_the_error_of_the_exponent_is_right_over_repeats():
    scales, rng = np.array([1.0, 2, 4, 8]), np.random.default_rng(0)
    values, errors = 3 / scales, np.array([0.02, 0.03, 0.01, 0.002])
    found = np.array(
        [exponent(scales, values + errors * rng.standard_normal(4), errors) for _ in range(2000)]
    )
    assert abs(found[:, 0].mean() + 1) < 5e-4
    assert found[:, 0].std() == pytest.approx(found[:, 1].mean(), rel=0.06)


def test_the_ratio_of_means_knows_which_entries_belong_together():
    runs = torch.tensor([1.0, 2.0, 3.0, 6.0], dtype=torch.float64)
    assert ratio_of_means(2 * runs, runs) == (2.0, 0.0)
    value, error = ratio_of_means(torch.tensor([1.0, 0.0, 0.0, 3.0], dtype=torch.float64), -runs)
    assert value == pytest.approx(-1 / 3)
    left = np.array([1, 0, 0, 3]) - np.array([1, 2, 3, 6]) / 3
    assert error == pytest.approx(left.std(ddof=1) / 2 / 3)


def test_the_error_of_a_ratio_is_right_over_repeats():
    rng = np.random.default_rng(0)
    below = 5 + rng.standard_normal((2000, 50))
    found = [
        ratio_of_means(*map(torch.tensor, (0.5 * b + rng.standard_normal(50), b))) for b in below
    ]
    values, told = np.array(found).T
    assert abs(values.mean() - 0.5) < 4 * told.mean() / 2000**0.5
    assert values.std() == pytest.approx(told.mean(), rel=0.06)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: exponent([1, 2], [1, -2], [1, 1]),
            "`values`",
        ),
        (lambda: exponent([0, 2], [1, 2], [1, 1]), "`scales`"),
        (
            lambda: exponent([1, 1], [1, 2], [1, 1]),
            "`scales`",
        ),
        (
            lambda: ratio_of_means(torch.ones(3), torch.ones(2)),
            "`denominators`",
        ),
        (
            lambda: ratio_of_means(torch.ones(2), torch.tensor([1.0, -1.0])),
            "`denominators` must not have mean 0",
        ),
    ],
)
def test_what_has_no_exponent_or_ratio(call, words):
    with pytest.raises(ValueError, match=words):
        call()
