import numpy as np
import pytest

from ntpcompanion.experiments.flatness import bracket_descent
from tests.experiments.cases import small_run

RIGHT = {"starts": 2, "width": 40, "wider": 140, "horizon": 20.0, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(bracket_descent, RIGHT)


def test_traces_fall_to_the_bound_and_neurons_turn_to_counting(found):
    for path in found.paths:
        ratios = np.array(path.ratios)
        assert ratios.min() >= 1
        assert ratios[-1] < ratios[0]
        assert path.alignments[-1] > path.alignments[0]
        if path.method == "flow":
            assert (np.diff(ratios) < 0).all()
    assert found.end("penalty", 4) < 1.1
    assert found.end("penalty", 4, 6) == max(found.end("penalty", T) for T in (4, 6))
    assert abs(found.noise_ratio.mean - 1) < 0.2


def test_each_size_has_a_first_flow(found):
    assert [(one.T, one.m) for one in found.first] == [(4, 40), (4, 160), (6, 140)]
    times = found.flows("times")
    assert list(times)[2] == "$T = 6$, $m = 140$"
    assert times.max().tolist() == [20, 20, 70]
    assert found.table.groupby(["T", "m"]).size().tolist() == times.count().tolist()
    assert found.noisy.times[-1] == pytest.approx(0.02**2 * 250 * 20)
