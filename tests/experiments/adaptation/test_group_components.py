import numpy as np
import pytest

from ntpcompanion.experiments.adaptation import group_components
from tests.experiments.cases import small_run

SETTINGS = [[0.0, 60, 1.0], [8.0, 60, 1.0], [8.0, 60, 0.0]]
RIGHT = {"settings": SETTINGS, "groups": 3, "spare_dim": 1, "dim": 6, "clients": 20}
RIGHT |= {"noise": 0.5, "tested": 2000, "seeds": 4, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(group_components, RIGHT)


def test_numbers_are_of_their_setting_and_seed(found):
    table = found.table[found.table.setting == 1]
    assert found.mean("gain", 1).mean == pytest.approx((table.shared - table.keyed).mean())
    assert np.allclose(found.of("off")[1], table.fraction - table.rand)
