import pytest

from ntpcompanion.experiments.attention import attention_starts
from tests.experiments.cases import small_run

RIGHT = {"starts": 2, "few_sets": 12, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(attention_starts, RIGHT, long=True)


def test_data_sets_with_a_wrong_token_are_counted(found):
    wrong = [end for end in found.ends if end.wrong]
    assert {end.dim for end in wrong} == {20}
    assert found.wrong_sets(20) == len(wrong) > 0
    assert found.least_lag == min(end.lag for end in wrong) > 1
    fraction, none = found.wrong_fraction(20), found.wrong_fraction(100)
    p = (len(wrong) + 1) / 14
    assert fraction.mean == len(wrong) / 12
    assert fraction.stderr == pytest.approx((p * (1 - p) / 12) ** 0.5)
    assert (none.mean, none.replicates) == (0, 12)
    assert none.stderr > 0
    with pytest.raises(ValueError, match="`dim` must be 20 or 100, got 50"):
        found.wrong_fraction(50)


def test_both_ends_in_the_plane_are_those_found_by_hand(found):
    """(−1.5, 1) and (1, 1): the least w whose products with two differences are at least 1."""
    first, second = found.directions
    assert first == pytest.approx((-1.5 / 3.25**0.5, 1 / 3.25**0.5), abs=1e-4)
    assert second == pytest.approx((0.5**0.5, 0.5**0.5), abs=1e-4)
    assert found.farthest_walk < 0.05
    assert found.walks[0].path[0] == (5, 0)
    assert sum(found.attention[0]) == pytest.approx(1)
    assert max(found.attention[-1]) == found.attention[-1][0]
