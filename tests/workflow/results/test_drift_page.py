import re

import pytest

from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.results.drift_page import courses, drift_page, sparkline
from tests.workflow.running.test_history import build

TITLES = {"coin": "A coin", "words": "Words"}


def moved(toy, *builds):
    found = courses(builds, load_claims(toy.project))
    return {course.claim.id: course.moved for course in found}


def test_an_exact_number_moves_beyond_its_band_only(toy):
    first = build(toy, toy_half=0.5)
    assert moved(toy, first, build(toy, toy_half=0.504)) == {"toy.half": False}, "1 % is its band"
    assert moved(toy, first, build(toy, toy_half=0.506)) == {"toy.half": True}
    back = build(toy, toy_half=0.5)
    assert moved(toy, first, build(toy, toy_half=0.506), back) == {"toy.half": True}


def test_a_random_number_moves_beyond_its_error_only(toy):
    def at(value):
        return build(toy, toy_half=Measurement.of("toy.half", value, stderr=0.01, replicates=50))

    assert moved(toy, at(0.5), at(0.53)) == {"toy.half": False}
    assert moved(toy, at(0.5), at(0.6)) == {"toy.half": True}
    assert moved(toy, build(toy, toy_half=0.5), at(0.6)) == {"toy.half": True}


def test_of_several_values_the_one_that_moved_most_is_shown(toy):
    builds = [build(toy, toy_powers=[1.0, 2.0]), build(toy, toy_powers=[1.0, 2.5])]
    (course,) = courses(builds, load_claims(toy.project))
    assert (course.shown, course.moved) == (1, True)
    shorter = [build(toy, toy_powers=[1.0, 2.0, 3.0]), *builds]
    (course,) = courses(shorter, load_claims(toy.project))
    assert len(course.items) == 2, "what was another list of numbers is left out"


def test_the_page_lists_builds_then_what_moved_then_the_rest_folded(toy):
    builds = [
        build(toy, toy_half=0.5, toy_powers=[1.0, 2.0]),
        build(toy, machine="<another>", commit="def", toy_half=0.6, toy_powers=[1.0, 2.0]),
    ]
    text = drift_page(builds, load_claims(toy.project), TITLES)
    assert "1 of 2 claims moved" in text
    head, _, folded = text.partition('<details class="ntp-group">')
    assert "toy.half" in head
    assert "toy.powers" in folded
    assert "toy.half" not in folded
    assert "&lt;another&gt;, 2 cores" in head
    assert "python 3.11.7" in head
    assert text.count("<details") == 1, "Words has measured nothing"


def test_a_sparkline_has_a_mark_for_each_build_inside_its_frame(toy):
    item = Measurement.of("toy.half", 0.5, stderr=0.05, replicates=3)
    builds = [build(toy, toy_half=item), build(toy, machine="b", toy_half=0.9)]
    (course,) = courses(builds, load_claims(toy.project))
    svg = sparkline(course, ["a processor, 2 cores", "b, 2 cores"])
    assert svg.count("<circle") == 1
    assert svg.count("<path") == 1, "another machine has another mark"
    assert svg.count("<line ") == 1, "an exact number has no interval"
    heights = [float(y) for y in re.findall(r' (?:cy|y1|y2)="([\d.]+)"', svg)]
    assert all(0 <= y <= 40 for y in heights)
    assert 'aria-label="2 builds, from 0.5 to 0.9"' in svg
    line = re.search(r'points="([\d.]+),([\d.]+) ([\d.]+),([\d.]+)"', svg)
    assert float(line[1]) < float(line[3])
    assert float(line[2]) > float(line[4]), "larger is higher"


def test_an_exact_number_lies_on_its_band(toy):
    builds = [build(toy, toy_half=0.5), build(toy, toy_half=0.502)]
    (course,) = courses(builds, load_claims(toy.project))
    svg = sparkline(course, ["a processor, 2 cores"])
    assert '<rect x="0" y="8.0" width="180" height="24.0"/>' in svg


def test_without_a_history_the_page_says_how_to_begin_one(toy):
    assert "ntpcompanion history" in drift_page([], load_claims(toy.project), TITLES)


@pytest.mark.parametrize("value", [0.0, -3.0])
def test_one_build_of_one_number_can_be_drawn(toy, value):
    (course,) = courses([build(toy, toy_powers=[value, value])], load_claims(toy.project))
    assert 'cx="90.0" cy="20.0"' in sparkline(course, ["a processor, 2 cores"])


def test_a_negative_number_has_a_minus_sign(toy):
    builds = [build(toy, toy_half=-0.5), build(toy, toy_half=-0.25)]
    page = drift_page(builds, load_claims(toy.project), TITLES)
    assert '<span class="ntp-drift-now">\N{MINUS SIGN}0.25</span>' in page
    assert "2 builds, from \N{MINUS SIGN}0.5 to \N{MINUS SIGN}0.25" in page
