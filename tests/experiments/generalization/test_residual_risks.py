import numpy as np
import pytest

from ntpcompanion.experiments.generalization import residual_risks
from tests.experiments.cases import small_run

RIGHT = {"dims": [1, 3], "sizes": [40, 160, 640], "norm": 0.6, "noise_dim": 2, "neighbours": 8}
RIGHT |= {"replicates": 4, "tested": 500, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(residual_risks, RIGHT)


def test_risks_are_those_of_the_definition(found):
    """Nearest neighbours among all distances, and a base from a grid of multipliers."""
    row = found.clean[0]  # one dimension, 40 examples
    x, _, new, theta = residual_risks._draw(found.plan, 1, 40, 0)
    slope = 0.6 * theta  # in one dimension the base has the sign of the truth and the largest norm
    nearest = np.abs(new - x.T).argmin(axis=1)
    assert row.nearest == pytest.approx((((new - x[nearest]) @ theta) ** 2).mean())
    assert row.memory == pytest.approx((((new - x[nearest]) @ (theta - slope)) ** 2).mean())
    assert row.base == pytest.approx(((new @ (theta - slope)) ** 2).mean())


def test_the_propositions_hold_and_estimates_are_near_them(found):
    assert found.training_error < 1e-12
    assert found.ratio.mean == pytest.approx(0.4**2, abs=0.03)
    assert found.exponent(3).mean == pytest.approx(-2 / 3, abs=0.15)
    assert found.exponent_error.mean == max(abs(found.exponent(d).mean + 2 / d) for d in (1, 3))
