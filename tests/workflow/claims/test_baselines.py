import json
import re
from dataclasses import replace

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.claims import baselines
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.running.results import Result
from tests.toy import ROOT, write_claims


def result(notebook, inputs=None, **values):
    items = [
        v if isinstance(v, Measurement) else Measurement.of(k.replace("_", "."), v)
        for k, v in values.items()
    ]
    return Result(
        notebook=notebook,
        profile="book",
        parameters={},
        overrides={},
        defaults={},
        measurements=items,
        key="k",
        key_parts={"inputs": inputs or {}},
        started="2026-01-01T00:00:00+00:00",
        seconds=1.0,
        cell_seconds=[],
        peak_memory=0,
        versions={},
        hardware={},
        outputs="o",
    )


@pytest.fixture
def claims(toy):
    return load_claims(toy.project)


def test_within_the_band_is_green_and_outside_is_named(claims):
    stored = baselines.updated({}, {"coin": result("coin", toy_half=0.5, toy_powers=[1.0, 2.0])})
    near = baselines.compare(
        {"coin": result("coin", toy_half=0.5049, toy_powers=[1.0, 2.0])}, claims, stored, "book"
    )
    assert near == baselines.Comparison([], [])
    far = baselines.compare(
        {"coin": result("coin", toy_half=0.52, toy_powers=[1.0, 2.5])}, claims, stored, "book"
    )
    assert far.faults == [
        "toy.half: baseline 0.5, now 0.52, moved 0.02, band ± 0.005",
        "toy.powers: baseline 2, now 2.5, moved 0.5, band ± 0",
    ]


def test_an_unexpected_verdict_is_red_whatever_the_baseline(claims):
    moved = {"coin": result("coin", toy_half=0.7, toy_powers=[1.0, 2.0])}
    found = baselines.compare(moved, claims, baselines.updated({}, moved), "book")
    assert found.faults == ["toy.half: verdict refuted, expected supported (ours 0.7)"]


def test_new_and_vanished_values_are_red(claims):
    stored = baselines.updated({}, {"coin": result("coin", toy_half=0.5)})
    assert (
        "toy.powers: no baseline yet"
        in baselines.compare(
            {"coin": result("coin", toy_half=0.5, toy_powers=[1, 2])}, claims, stored, "book"
        ).faults[0]
    )
    stored = baselines.updated({}, {"coin": result("coin", toy_half=0.5, toy_powers=[1, 2])})
    assert baselines.compare(
        {"coin": result("coin", toy_half=0.5)}, claims, stored, "book"
    ).faults == [
        "coin does not measure the claim 'toy.powers', though claims.yml expects a value at "
        "profile book.",
        "toy.powers: has a baseline but was not measured",
    ]
    assert (
        "3 values, the baseline has 2"
        in baselines.compare(
            {"coin": result("coin", toy_half=0.5, toy_powers=[1, 2, 3])}, claims, stored, "book"
        ).faults[0]
    )


def test_values_of_a_text_are_kept_under_its_hash(claims):
    stored = baselines.updated({}, {"words": result("words", {"text": "a"}, toy_words=3.0)})
    other = {"words": result("words", {"text": "b"}, toy_words=9.0)}
    found = baselines.compare(other, claims, stored, "book")
    assert found.faults == []
    assert "only verdicts were checked" in found.notes[0]
    assert len(baselines.updated(stored, other)) == 2


def test_an_update_drops_the_values_of_a_record_that_was_made_anew():
    other = result("words", {"text": "a", "record walk": "b"}, toy_words=3.0)
    stored = baselines.updated(
        {}, {"coin": result("coin", {"record walk": "b"}, toy_half=0.5), "words": other}
    )
    again = {"coin": result("coin", {"record walk": "c"}, toy_half=0.6)}
    new = baselines.updated(stored, again)
    assert sorted(len(values) for values in new.values()) == [1, 1]
    assert new[baselines.input_key(again["coin"])]["toy.half"].values == (0.6,)
    assert new[baselines.input_key(other)] == stored[baselines.input_key(other)]


def test_an_update_keeps_the_values_of_another_text_and_none_without_it():
    stored = baselines.updated({}, {"words": result("words", {"text": "a"}, toy_words=3.0)})
    both = baselines.updated(stored, {"words": result("words", {"text": "b"}, toy_words=9.0)})
    assert len(both) == 2
    now = result("words", toy_words=1.0)
    assert list(baselines.updated(both, {"words": now})) == [baselines.NO_INPUT]
    before = {baselines.NO_INPUT: {"toy.words": now.measurements[0]}}
    assert baselines.NO_INPUT not in baselines.updated(
        before, {"words": result("words", {"text": "a"}, toy_words=3.0)}
    )


def test_an_update_keeps_what_was_not_run():
    stored = baselines.updated({}, {"coin": result("coin", {"record walk": "b"}, toy_half=0.5)})
    words = {"words": result("words", toy_words=3.0)}
    assert baselines.updated(stored, words).items() >= stored.items()


def test_values_of_claims_that_are_gone_are_dropped(claims):
    stored = baselines.updated({}, {"coin": result("coin", toy_half=0.5, toy_gone=1.0)})
    stored["text"] = {"toy.gone": stored["-"]["toy.gone"]}
    half = {"-": {"toy.half": stored["-"]["toy.half"]}}
    assert baselines.updated(stored, {}, claims) == half
    assert baselines.updated(stored, {}) == stored


def half(value, stderr=0.0, replicates=5):
    return Measurement.of("toy.half", value, stderr=stderr, replicates=replicates)


def compared(claims, stored, now, **changes):
    before, after = (result("coin", toy_half=item, toy_powers=[1.0, 2.0]) for item in (stored, now))
    found = baselines.compare(
        {"coin": replace(after, **changes)}, claims, baselines.updated({}, {"coin": before}), "book"
    )
    return found.faults, found.notes


def test_a_random_number_moves_when_the_test_of_welch_says_so(claims):
    """Whatever its band: .5 ± .01 and .55 ± .01 over five replicates each differ with p = .0078,
    which is no alarm at .001.
    """
    assert compared(claims, half(0.5, 0.01), half(0.55, 0.01)) == ([], [])
    faults, _ = compared(claims, half(0.5, 0.001), half(0.55, 0.001))
    assert faults == [
        "toy.half: baseline and now 0.5 ± 0.001 and 0.55 ± 0.001: Welch's test gives p = 4.5e-10, "
        "below 0.001"
    ]


def test_the_level_is_that_of_all_random_numbers_together(claims):
    """p = .00061: an alarm where it is the only random number, and none among two."""
    now = {"toy_half": half(0.5385, 0.005), "toy_powers": [1.0, 2.0]}
    stored = baselines.updated(
        {}, {"coin": result("coin", toy_half=half(0.5, 0.005), toy_powers=[1.0, 2.0])}
    )
    assert (
        "p = 0.00061"
        in baselines.compare({"coin": result("coin", **now)}, claims, stored, "book").faults[0]
    )
    second = Measurement.of("toy.powers", [1.0, 2.0], stderr=[0.01, 0.0], replicates=5)
    assert (
        baselines.compare(
            {"coin": result("coin", **now | {"toy_powers": second})}, claims, stored, "book"
        ).faults
        == []
    )


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


def test_the_file_survives_a_round_trip(tmp_path):
    path = tmp_path / "book.json"
    assert baselines.read_baseline(path) == {}
    items = {"toy.half": half(0.5, 0.1), "toy.powers": Measurement.of("toy.powers", [1.0, 2.0])}
    baselines.write_baseline(path, {"-": items})
    assert json.loads(path.read_text()) == {
        "-": {
            "toy.half": {"value": 0.5, "stderr": 0.1, "replicates": 5},
            "toy.powers": {"value": [1.0, 2.0]},
        }
    }
    assert baselines.read_baseline(path) == {"-": items}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "Expecting property name"),
        ("[]", "it must hold an object of objects"),
        ('{"-": 5}', "it must hold an object of objects"),
        (
            '{"-": {"a.b": 0.5}}',
            "the entry 'a.b' must hold a value and, if it is random, its stderr and replicates, "
            "got 0.5",
        ),
        ('{"-": {"a.b": {"values": 1}}}', "the entry 'a.b' must hold a value"),
        ('{"-": {"a.b": {"value": NaN}}}', "`value` of 'a.b' is nan"),
        ('{"-": {"a.b": {"value": 1, "stderr": 1}}}', "`replicates` of 'a.b' is missing"),
        ("[" * 10_000, "recursion"),
    ],
)
def test_a_damaged_baseline_is_named(tmp_path, text, words):
    path = tmp_path / "book.json"
    path.write_text(text)
    with pytest.raises(
        WorkflowError, match=rf"book.json cannot be read: .*{re.escape(words)}.*Restore it from git"
    ):
        baselines.read_baseline(path)


def test_of_many_values_that_moved_the_first_is_shown(claims):
    stored = baselines.updated(
        {}, {"coin": result("coin", toy_half=0.5, toy_powers=[1.0, 2.0, 3.0])}
    )
    far = baselines.compare(
        {"coin": result("coin", toy_half=0.5, toy_powers=[1.0, 2.5, 3.5])}, claims, stored, "book"
    )
    assert far.faults == ["toy.powers: baseline 2, now 2.5, moved 0.5, band ± 0"]


def test_one_baseline_serves_many_notebooks_and_may_hold_claims_that_are_gone(claims):
    both = {
        "coin": result("coin", toy_half=0.5, toy_powers=[1.0, 2.0]),
        "words": result("words", toy_words=3.0),
    }
    stored = baselines.updated({}, both)
    stored["-"]["toy.gone"] = Measurement.of("toy.gone", 1.0)
    assert baselines.compare(both, claims, stored, "book") == baselines.Comparison([], [])


def test_what_did_not_move_leaves_the_file_in_git_as_it_is(tmp_path):
    stored = ROOT / "tests" / "baselines" / "smoke.json"
    baselines.write_baseline(tmp_path / "smoke.json", baselines.read_baseline(stored))
    assert (tmp_path / "smoke.json").read_text() == stored.read_text()
