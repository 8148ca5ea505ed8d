import numpy as np
import pytest

from ntpcompanion.experiments.flatness import feature_traces
from tests.experiments.cases import small_run

RIGHT = {"wide": 512, "draws": 2, "width": 256, "stein_draws": 30, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(feature_traces, RIGHT, long=True)


def test_balancing_flattens_towards_the_wide_limits(found):
    for T in (4, 6):
        drawn, whole, neurons = (one for one in found.scaled if one.T == T)
        norms = np.array([one.squared_gradients for one in (drawn, whole, neurons)])
        assert (np.diff(norms, axis=0) < 0).all()
        assert drawn.limit == 512 / (2 * T)
        assert whole.multiple.mean == pytest.approx(norms[1].mean() * T**0.5 / 2)
        assert found.table["wide limit"][T, whole.scaling] == pytest.approx(T)
    assert found.flattest.mean == found.table["multiple of the bound"].min()
    assert 0 < found.limit_error.mean < 0.5
