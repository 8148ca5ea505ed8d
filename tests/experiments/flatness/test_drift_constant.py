import numpy as np
import pytest

from ntpcompanion.experiments.flatness import drift_constant
from tests.experiments.cases import small_run

RIGHT = {"replicas": 200, "smallest_rate": 0.1, "horizon": 0.5, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(drift_constant, RIGHT, long=True)


def test_the_flow_is_that_of_the_closed_form(found):
    a, b = np.transpose(found.flow)
    assert found.decay == pytest.approx(a**2 - b**2, rel=1e-7)
    assert a * b == pytest.approx(np.full(21, np.log(4)))
    assert found.plan.rates == [0.8, 0.4, 0.2, 0.1]


def test_constants_are_those_of_the_mean_imbalance(found):
    for course, fit in zip(found.courses, found.fits, strict=False):
        assert (fit.B, fit.rate) == (1, course.rate)
        d = course.mean[0] * np.exp(-4 * fit.c * 0.16 * course.times[-1])
        assert d == pytest.approx(course.mean[-1])
        gap = course.mean[-1] - course.mean[0] * np.exp(-0.16 * course.times[-1])
        assert fit.gap == pytest.approx(gap)
    for batch in drift_constant.BATCHES:
        constant = found.constant(batch)
        assert abs(constant.mean - 1 / 4) < 5 * constant.stderr
    assert abs(found.batch_exponent.mean + 1) < 0.1
    assert abs(found.gap_limit.mean) < 5 * found.gap_limit.stderr
    assert found.step_exponent == pytest.approx(-2, abs=0.2)


def test_log_d_varies_as_predicted(found):
    assert abs(found.along.mean - 1) < 5 * found.along.stderr
    assert found.along.replicates == 10
    finest = found.deviations.loc[0.1]
    assert finest.predicted == pytest.approx(0.1**2 * 0.5 * 0.16 * 0.6**2)
    logs = np.log(np.diff(np.square(found.ends)[:, ::-1]))  # of all 200 runs
    assert logs.var(ddof=1) / finest.predicted == pytest.approx(finest.ratio, rel=0.15)
