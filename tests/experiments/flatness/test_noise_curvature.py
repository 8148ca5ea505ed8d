import numpy as np
import pytest

from ntpcompanion.experiments.flatness import noise_curvature
from tests.experiments.cases import small_run

RIGHT = {"hidden": 16, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(noise_curvature, RIGHT)


def test_the_covariance_is_the_hessian_at_minimizers_only(found):
    assert found.gap < 1e-12
    assert found.beside == min(one.beside for one in found.models) > 1e-4
    assert 0 < found.smallest < min(one.smallest for one in found.models)
    table = found.table
    assert table.index.tolist() == ["Bernoulli", "softmax", "network", "linear"]
    assert table["parameters"].tolist()[:2] == [2, 8]
    a, b = 2, np.log(4) / 2  # by hand: one eigenvalue that is not zero
    assert table.loc["Bernoulli"].tolist()[1:] == pytest.approx([1] + [0.16 * (a**2 + b**2)] * 2)
