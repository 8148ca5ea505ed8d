import numpy as np
import pytest

from ntpcompanion.experiments.same_loss.comparisons import (
    CASES,
    PROBES,
    Case,
    compare,
    compare_widths,
    table_of,
)
from tests.experiments.same_loss.test_recorded_study import STUDY, rows, study_of


def wider(factor, points):
    untrained = rows("untrained", 0.0, 0.1, 1.0, 0.0)
    return study_of(*rows("saturated", 0.0, 0.008, factor, points), *untrained)


def test_each_case_is_the_effect_that_its_fields_name():
    cases = [
        Case("table", -9.5, -1.9, "8 states", "lookup"),
        Case("width", 4.5, 1.0, "w", "", "full"),
    ]
    cases[1] = cases[1]._replace(against="8 states")
    found = compare({"8 states": STUDY, "w": wider(1.0, 3.0)}, cases).set_index("label")
    assert found.value.to_dict() == pytest.approx({"table": -11.0, "width": 3.0})
    own = STUDY.effect("lookup")
    assert found.loc["table", ["low", "high", "sd"]].tolist() == [*own.interval, own.sd]
    assert found.delta.tolist() == [-1.9, 1.0]
    with pytest.raises(ValueError, match="`studies` must hold 'w', got 8 states"):
        compare({"8 states": STUDY}, cases)


def test_an_effect_of_interest_has_the_sign_of_the_printed_one_and_a_fifth_of_its_size():
    for case in CASES:
        if np.isfinite(case.paper * case.delta):
            assert case.delta == pytest.approx(case.paper / 5)


def test_a_table_has_the_comparisons_of_one_question_in_words():
    cases = [
        Case("", -9.5, -1.9, "8 states, again", "lookup"),
        Case("", np.nan, np.nan, "8 states", "lookup"),
        Case("wide", np.nan, 1.0, "8 states", "", against="8 states, again"),
    ]
    own = STUDY.effect("lookup")
    change = "{:+.2f} [{:+.2f}, {:+.2f}]".format(own.mean, *own.interval).replace("-", "−")
    found = table_of(compare({"8 states": STUDY, "8 states, again": STUDY}, cases), "lookup")
    assert found.to_numpy().tolist() == [
        ["8 states", "main", "64 columns", change, "−1.9"],
        ["8 states", "main", "64 columns", change, "–"],
    ]
    assert {case.column for case in CASES} == set(PROBES)


def test_widths_are_compared_with_the_first_of_them():
    found = compare_widths({32: wider(1.0, 0.0), 64: wider(2.0, 3.0)}, ["full"])
    columns = ["networks", "width", "change"]
    assert found[columns].to_numpy().tolist() == [
        ["saturated", 32, 0.0],
        ["saturated", 64, pytest.approx(3.0)],
        ["untrained", 32, 0.0],
        ["untrained", 64, pytest.approx(0.0)],
    ]
