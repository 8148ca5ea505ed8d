from dataclasses import replace

import pytest

from ntpcompanion.workflow.checking.value_comparison import compare, updated
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import judged_claims
from tests.toy import write_claims
from tests.workflow.checking.test_baselines import result


@pytest.fixture
def claims(toy):
    return load_claims(toy.project)


def compared(claims, stored, now, notebook="coin", inputs=(None, None), **changes):
    """Faults and notes on the values `now` of a notebook where others are stored."""
    before, after = (result(notebook, i, **v) for i, v in zip(inputs, (stored, now), strict=True))
    return texts(claims, {notebook: replace(after, **changes)}, updated({}, {notebook: before}))


def texts(claims, results, stored):
    items = [item for run in results.values() for item in run.measurements]
    found = compare(results, judged_claims(claims, items, "book"), stored, "book")
    return tuple([f.text for f in found if f.fault is fault] for fault in (True, False))


def half(value, stderr=0.0, replicates=5, powers=(1.0, 2.0)):
    item = Measurement.of("toy.half", value, stderr=stderr, replicates=replicates)
    return {"toy_half": item, "toy_powers": list(powers)}


def test_within_the_band_is_green_and_outside_is_named(claims):
    assert compared(claims, half(0.5), half(0.5049)) == ([], [])
    assert compared(claims, half(0.5), half(0.505)) == ([], []), "the border belongs to the band"
    assert compared(claims, half(0.5), half(0.52, powers=(1.0, 2.5)))[0] == [
        "toy.half: baseline 0.5, now 0.52, moved 0.02, band ± 0.005",
        "toy.powers: value 2 of 2: baseline 2, now 2.5, moved 0.5, band ± 0",
    ]


def test_an_unexpected_verdict_is_red_whatever_the_baseline(claims):
    faults, _ = compared(claims, half(0.7), half(0.7))
    assert faults == ["toy.half: verdict refuted, expected supported (ours 0.7)"]


def test_new_and_vanished_values_are_red(claims):
    alone = {"toy_half": 0.5}
    assert "toy.powers: no baseline yet" in compared(claims, alone, half(0.5))[0][0]
    assert compared(claims, half(0.5), alone)[0] == [
        "coin does not measure the claim 'toy.powers', though a value is expected at profile book.",
    ]
    longer = compared(claims, half(0.5), half(0.5, powers=(1, 2, 3)))[0]
    assert "3 values, the baseline has 2" in longer[0]


def test_a_random_number_moves_when_the_test_of_welch_says_so(claims):
    """Whatever its band: .5 ± .01 and .55 ± .01 over five replicates each differ with p = .0078,
    which is not an alarm at .001.
    """
    assert compared(claims, half(0.5, 0.01), half(0.55, 0.01)) == ([], [])
    faults, _ = compared(claims, half(0.5, 0.001), half(0.55, 0.001))
    assert faults == [
        "toy.half: baseline 0.5 ± 0.001, now 0.55 ± 0.001: Welch's test gives p = 4.5e-10, "
        "below 0.001"
    ]


def test_what_is_exact_in_a_random_list_has_its_band(claims):
    def powers(second, error):
        pair = {"value": [1.0, second], "stderr": [error, 0.0], "replicates": 5}
        return {"toy_half": 0.5, "toy_powers": Measurement.of("toy.powers", **pair)}

    assert compared(claims, powers(2.0, 0.1), powers(2.0, 0.2)) == ([], [])
    faults, _ = compared(claims, powers(2.0, 0.1), powers(2.5, 0.1))
    assert faults == ["toy.powers: value 2 of 2: baseline 2, now 2.5, moved 0.5, band ± 0"]


def test_the_level_is_that_of_all_random_numbers_together(claims):
    """p = .00061: an alarm where it is the only random number, and none among two."""
    before, now = half(0.5, 0.005), half(0.5385, 0.005)
    assert "p = 0.00061" in compared(claims, before, now)[0][0]
    second = Measurement.of("toy.powers", [1.0, 2.0], stderr=[0.01, 0.0], replicates=5)
    assert compared(claims, before, {**now, "toy_powers": second})[0] == []


def test_a_verdict_that_changes_while_its_number_stays_is_borderline(claims):
    faults, notes = compared(claims, half(0.55, 0.015), half(0.57, 0.015))
    assert faults == []
    assert notes == [
        "toy.half: verdict inconclusive, expected supported (ours 0.570 ± 0.015); borderline: the "
        "number has not moved"
    ]


def test_an_edited_expectation_is_not_borderline(toy):
    write_claims(toy.project, expect={"book": {"equals": 0.4, "within": 0.05}})
    faults, notes = compared(load_claims(toy.project), half(0.5, 0.01), half(0.5, 0.01))
    assert faults == ["toy.half: verdict refuted, expected supported (ours 0.500 ± 0.010)"]
    assert notes == []


def test_what_one_seed_decides_has_no_drift(toy):
    write_claims(toy.project, expect=None, exploratory="one training seed")
    assert compared(load_claims(toy.project), half(0.5), half(0.9)) == ([], [])


def test_of_a_run_with_its_own_parameters_only_random_numbers_and_verdicts_are_compared(claims):
    own = {"overrides": {"seed": 1}}
    assert compared(claims, half(0.5), half(0.55), **own) == ([], [])
    assert "verdict refuted" in compared(claims, half(0.5), half(0.9), **own)[0][0]
    assert "Welch" in compared(claims, half(0.5, 0.0001), half(0.55, 0.0001), **own)[0][0]


def test_of_many_values_that_moved_the_first_is_shown(claims):
    faults, _ = compared(claims, half(0.5, powers=(1, 2, 3)), half(0.5, powers=(1, 2.5, 3.5)))
    assert faults == ["toy.powers: value 2 of 3: baseline 2, now 2.5, moved 0.5, band ± 0"]


def test_one_baseline_serves_many_notebooks_and_may_hold_claims_that_are_gone(claims):
    both = {"coin": result("coin", **half(0.5)), "words": result("words", toy_words=3.0)}
    stored = updated({}, both)
    stored["-"]["toy.gone"] = Measurement.of("toy.gone", 1.0)
    assert texts(claims, both, stored) == ([], [])


@pytest.mark.parametrize(
    ("value", "faults"),
    [(9.0, []), (1.0, ["toy.words: verdict refuted, expected supported (ours 1)"])],
)
def test_of_a_text_without_baseline_only_verdicts_are_checked(claims, value, faults):
    texts = {"text": "a"}, {"text": "b"}
    of_words = {"toy_words": 3.0}, {"toy_words": value}
    found, (note,) = compared(claims, *of_words, notebook="words", inputs=texts)
    assert found == faults
    assert "only verdicts were checked" in note


def test_what_is_not_measured_any_more_goes_with_the_next_update(claims):
    """A claim that expects nothing at the profile, and a number that is not a claim."""
    stored = updated({}, {"coin": result("coin", None, toy_half=0.5, toy_gone=1.0)})
    now = {"coin": result("coin", None, toy_powers=[1.0, 2.0], toy_stray=3.0)}
    later = claims["toy.half"].model_copy(
        update={"expect": {"paper": claims["toy.half"].expect["book"]}}
    )
    faults, _ = texts({**claims, "toy.half": later}, now, stored)
    assert "toy.half: has a baseline but was not measured, nor is it expected: `--update`" in str(
        faults
    )
    assert set(updated(stored, now, claims)["-"]) == {"toy.powers"}
    assert set(updated(stored, now)["-"]) == {"toy.half", "toy.gone", "toy.powers", "toy.stray"}


def test_as_many_values_as_before_are_needed_to_call_a_verdict_borderline(claims):
    three = Measurement.of("toy.powers", [3.0, 2.0, 1.0], stderr=[0.01] * 3, replicates=5)
    two = Measurement.of("toy.powers", [1.0, 2.0], stderr=[0.01] * 2, replicates=5)
    faults, notes = compared(
        claims, {"toy_half": 0.5, "toy_powers": two}, {"toy_half": 0.5, "toy_powers": three},
        overrides={"n": 3},
    )  # fmt: skip
    assert (len(faults), notes) == (1, []), "refuted, and nothing was compared"
