import re

import pytest

from ntpcompanion.workflow.records.deviation import (
    RELATIVE,
    Tolerance,
    differences,
    fields_of,
    largest_deviation,
)

STORED = {"d": 12, "curve": [{"kl": 0.25, "seconds": 3.0}, {"kl": 0.125, "seconds": 4.0}]}


def changed(*path, value):
    found = {"d": 12, "curve": [dict(point) for point in STORED["curve"]]}
    place = found
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return found


@pytest.mark.parametrize(
    ("path", "value", "deviation"),
    [
        (("d",), 12, 0),
        (("curve", 0, "seconds"), 99.0, 0),
        (("curve", 1, "kl"), 0.125 * (1 + 1e-8), 1e-8),
    ],
    ids=["equal", "a duration", "rounding"],
)
def test_what_is_no_difference(path, value, deviation):
    found = changed(*path, value=value)
    assert differences(STORED, found) == []
    assert largest_deviation(STORED, found) == pytest.approx(deviation, rel=1e-6)


def test_what_is_almost_zero_may_round_to_zero():
    assert differences({"gap": 3e-17}, {"gap": 0.0}) == []
    assert differences({"gap": 3e-7}, {"gap": 0.0})


@pytest.mark.parametrize("old", [0.0, 1e-9, 1e-4, 1e-3, 0.7, 12.0])
def test_the_deviation_is_within_the_tolerance_where_there_is_no_difference(old):
    for step in (0, 3e-17, 0.9e-9, 1.1e-9, 1e-7 * old, 0.9e-6 * old, 1.1e-6 * old, old):
        equal = not differences({"tie": old}, {"tie": old + step})
        assert (largest_deviation({"tie": old}, {"tie": old + step}) <= RELATIVE) == equal


@pytest.mark.parametrize("size", [1e-10, 1e-3, 1.0, 1e6])
def test_a_tolerance_is_relative_at_every_size_and_may_be_that_of_a_field(size):
    old, new = {"a": [{"gap": size}]}, {"a": [{"gap": size * (1 + 5e-7)}]}
    (found,) = differences(old, new)
    assert (found.place, str(found.tolerance)) == ("a.0.gap", f"relative {RELATIVE:g}")
    assert differences(old, {"a": [{"gap": size * (1 + 1e-10)}]}) == []
    for wide in ({"relative": 1e-6}, {"absolute": size * 1e-6}, {"relative": 0, "absolute": size}):
        named = {"a.gap": Tolerance(**wide)}
        assert differences(old, new, named) == []
        assert largest_deviation(old, new, named) <= named["a.gap"].relative
        assert differences(old, new, {"gap": Tolerance(**wide)}), "a field of another name"
    assert differences(old, new, {"a.gap": Tolerance(relative=0)})
    assert fields_of({"a": [{"gap": 0.5, "n": 1}], "b": 2.0, "seconds": 3.0}) == {"a.gap", "b"}


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("curve", 1, "kl"), 0.12501, "curve.1.kl: 0.125 → 0.12501"),
        (("d",), 13, "d: 12 → 13"),
        (("d",), 12.0, "d: 12 → 12.0"),
        (("d",), True, "d: 12 → True"),
        (("curve", 0), None, "curve.0: {'kl': 0.25, 'seconds': 3.0} → None"),
        (("curve",), [], "curve: .*→ \\[\\]"),
        (("more",), 1, "^the result: "),
    ],
)
def test_a_difference_names_its_place_and_both_values(path, value, words):
    (found,) = differences(STORED, changed(*path, value=value))
    assert re.search(words if "\\" in words or "^" in words else re.escape(words), str(found))
