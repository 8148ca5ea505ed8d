import re

import pytest

from ntpcompanion.workflow.results.speed_pictures import (
    Axis,
    figures,
    growth_panel,
    ratio_axis,
    ratio_strip,
    ratio_ticks,
)
from ntpcompanion.workflow.timing.bench import Growth
from ntpcompanion.workflow.timing.medians import Estimate


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (1.0, "1"), (20.0, "20"), (1234.5, "1234"), (0.123456, "0.123"), (9.999, "10"),
        (0.00012345, "0.000123"), (0.0000123, "1.2e-05"), (3e7, "3e+07"), (-2.5, "-2.5"),
    ],
)  # fmt: skip
def test_numbers_have_three_digits(value, text):
    assert figures(value) == text


def test_an_axis_is_logarithmic_between_powers_of_ten():
    axis = Axis([0.3, 40.0], 0, 300)
    assert [axis.place(value) for value in (0.1, 1, 100)] == pytest.approx([0, 100, 300])
    assert axis.ticks == pytest.approx([0.1, 1, 10, 100])
    assert len(Axis([1e-9, 1e9], 0, 1).ticks) <= 7
    assert Axis([1.0, 1.0], 0, 1).place(1.0) == 0


def test_a_ratio_is_a_dot_on_its_interval_and_a_busy_one_is_open():
    axis = ratio_axis([Estimate(50, 20, 90, 9)])
    svg = ratio_strip(Estimate(50, 20, 90, 9), Estimate(5, 5, 5, 1), 10, axis, "a & b")
    assert 'aria-label="a &amp; b"' in svg
    dots = [float(x) for x in re.findall(r'cx="([\d.]+)"', svg)]
    assert dots == pytest.approx([axis.place(50), axis.place(5)], abs=0.1)
    assert svg.count("<path") == 4, "the line at 1, the goal, two intervals"
    alone = ratio_strip(Estimate(50, 20, 90, 9), None, None, axis, "")
    assert (alone.count("<path"), alone.count("<circle")) == (2, 1)
    assert re.findall(r">([\d.]+)</text>", ratio_ticks(axis)) == ["0.1", "1", "10", "100"]


def test_the_line_of_a_growth_passes_through_exact_powers():
    sizes = [10.0, 100.0, 1000.0]
    found = Growth(
        variable="n <1>", sizes=sizes, seconds=[[0.01], [0.1, 0.11, 0.09], [1.0]], ideal=2.0
    )
    svg = growth_panel(found, "A title")
    fit, ideal = (
        [float(x) for x in re.findall(r"[\d.]+", re.search(rf'class="{kind}" d="(.*?)"', svg)[1])]
        for kind in ("ntp-fit", "ntp-ideal")
    )
    points = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', svg)]
    assert fit == pytest.approx([*points[0], *points[-1]], abs=0.11)
    assert ideal[1] > fit[1], "the steeper line begins lower"
    assert "n &lt;1&gt;" in svg
    assert all(0 <= x <= 300 and 0 <= y <= 210 for x, y in points)
