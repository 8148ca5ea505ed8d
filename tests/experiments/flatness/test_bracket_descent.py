import pytest

from ntpcompanion.experiments.flatness import bracket_descent
from tests.experiments.cases import small_run

pytestmark = pytest.mark.slow  # a run takes seconds; a notebook makes one at smoke
RIGHT = {"starts": 2, "width": 40, "wider": 140, "horizon": 20.0, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(bracket_descent, RIGHT)


def test_each_size_has_a_first_flow(found):
    assert [(one.T, one.m) for one in found.first] == [(4, 40), (4, 160), (6, 140)]
    times = found.flows("times")
    assert list(times)[2] == "$T = 6$, $m = 140$"
    assert times.max().tolist() == [20, 20, 70]
    assert found.table.groupby(["T", "m"]).size().tolist() == times.count().tolist()
    assert found.noisy.times[-1] == pytest.approx(0.02**2 * 250 * 20)
