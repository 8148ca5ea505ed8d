import numpy as np
import pytest
from scipy.stats import norm

from ntpcompanion.experiments.generalization import reversed_noise
from ntpcompanion.randomness import stream
from tests.experiments.cases import small_run

RIGHT = {"m": 10, "ratio": 64, "draws": 4, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(reversed_noise, RIGHT)


def test_margins_and_errors_are_those_of_the_definition(found):
    assert found.plan.ratios == [16, 64, 128]
    sample = found.plan.problem(16).draw(stream(0, "linear 10 160"))
    y, x = sample.labels, sample.inputs
    w = y @ x
    first = found.margins(16)[0]
    assert first[0] == pytest.approx(y * (x @ w))
    assert first[2] == pytest.approx(y * (x[:, 0] * w[0] - x[:, 1:] @ w[1:]))
    mean, deviation = 2 * w[0] / 10**0.5, np.linalg.norm(w[1:]) * (32 / 160) ** 0.5
    assert found.test_errors(16)[0] == pytest.approx(norm.cdf(-mean / deviation))
