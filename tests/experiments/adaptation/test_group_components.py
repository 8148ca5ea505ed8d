import numpy as np
import pytest

from ntpcompanion.experiments.adaptation import group_components
from tests.experiments.cases import small_run

SETTINGS = [[0.0, 60, 1.0], [8.0, 60, 1.0], [8.0, 60, 0.0]]
RIGHT = {"settings": SETTINGS, "groups": 3, "spare_dim": 1, "dim": 6, "clients": 20}
RIGHT |= {"noise": 0.5, "tested": 2000, "seeds": 4, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(group_components, RIGHT)


def test_separate_groups_are_recovered(found):
    assert found.mean("rand", 1).mean > 0.99
    assert found.of("keyed")[1].to_numpy() == pytest.approx(found.of("oracle")[1], abs=0.02)
    assert found.mean("fraction", 1).mean > 0.97


def test_nothing_is_gained_where_groups_coincide(found):
    assert abs(found.mean("rand", 0).mean) < 0.02
    assert found.mean("gain", 0).mean < 0
    assert found.mean("gain", 2).mean == pytest.approx(-0.25 * 6 * 2 / 1200, abs=0.002)


def test_new_clients_lose_nothing_and_a_new_group_does(found):
    assert abs(found.mean("keyed", 1, less="seen").mean) < 0.02
    assert found.mean("new_keyed", 1, less="new_shared").mean > 0.1


def test_numbers_are_of_their_setting_and_seed(found):
    table = found.table[found.table.setting == 1]
    assert found.mean("gain", 1).mean == pytest.approx((table.shared - table.keyed).mean())
    assert np.allclose(found.of("off")[1], table.fraction - table.rand)
