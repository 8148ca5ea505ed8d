import pytest

from ntpcompanion.experiments.generalization import forest_explanations
from tests.experiments.cases import small_run

RIGHT = {"widths": [0.3, 3.0, 30.0], "splits": 2, "trees": 5, "draws": 200, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(forest_explanations, RIGHT)


def test_narrow_neighbourhoods_are_disjoint_and_wide_ones_coincide(found):
    """Then the overlap is √m, and 1, and a wide explanation is one ridge regression for all."""
    overlap, exponent = found.of("overlap"), found.of("exponent")
    assert overlap[:, 0] == pytest.approx(221**0.5, rel=0.1)
    assert exponent[:, 0] == pytest.approx(0.5, abs=0.05)
    assert overlap[:, -1] == pytest.approx(1, abs=0.1)
    assert exponent[:, -1] == pytest.approx(0, abs=0.05)
    assert found.exponent(0).mean == pytest.approx(exponent[:, 0].mean())


def test_narrow_explanations_memorize(found):
    assert (found.of("sample")[:, 0] < 0.01).all()
    assert found.sample_slope.mean > 0 > found.gap_slope.mean
    assert found.worse(0).mean > found.worse(-2).mean == 0
    rate = found.of("overlap") / 221**0.5
    above = (found.of("risk") - found.of("new") - rate).max(1)
    assert found.above_bound.mean == pytest.approx(above.mean())
