import numpy as np
import pytest

from ntpcompanion.experiments.flatness import sparse_valley
from tests.experiments.cases import small_run

RIGHT = {"steps": 1000, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(sparse_valley, RIGHT)


def test_the_loss_and_the_eigenvalues_off_the_supports_fall(found):
    table = found.table
    assert table.index[-1] == 1000
    assert (np.diff(table.excess) < 0).all()
    assert found.inside == 5  # two tokens for each of five contexts
    assert (np.diff(found.spectra, axis=1) <= 0).all()
    last, first = table.index[-1], table.index[table.index > 100][0]
    fall = np.log(table[5][last] / table[5][first]) / np.log(last / first)
    assert found.order == pytest.approx(fall, abs=0.1)
    assert found.order < 0
