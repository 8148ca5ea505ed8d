import pytest

from ntpcompanion.workflow import baselines
from ntpcompanion.workflow.claims import load_claims
from ntpcompanion.workflow.errors import WorkflowError
from ntpcompanion.workflow.results import Result
from tests.toy import ROOT


def result(notebook, inputs=None, **values):
    items = [{"id": name.replace("_", "."), "value": value, "stderr": 0.0, "seed": None, "cell": 1} for name, value in values.items()]
    return Result(
        notebook=notebook, profile="book", parameters={}, overrides={}, defaults={}, measurements=items,
        key="k", key_parts={"inputs": inputs or {}},
        started="2026-01-01T00:00:00+00:00",
        seconds=1.0, cell_seconds=[], peak_memory=0, versions={}, hardware={}, outputs="o",
    )  # fmt: skip


@pytest.fixture
def claims(toy):
    return load_claims(toy.project)


def test_within_the_band_is_green_and_outside_is_named(claims):
    stored = baselines.updated({}, {"coin": result("coin", toy_half=0.5, toy_powers=[1.0, 2.0])})
    near = baselines.compare({"coin": result("coin", toy_half=0.5049, toy_powers=[1.0, 2.0])}, claims, stored, "book")
    assert near == baselines.Comparison([], [])
    far = baselines.compare({"coin": result("coin", toy_half=0.52, toy_powers=[1.0, 2.5])}, claims, stored, "book")
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
        in baselines.compare({"coin": result("coin", toy_half=0.5, toy_powers=[1, 2])}, claims, stored, "book").faults[0]
    )
    stored = baselines.updated({}, {"coin": result("coin", toy_half=0.5, toy_powers=[1, 2])})
    assert baselines.compare({"coin": result("coin", toy_half=0.5)}, claims, stored, "book").faults == [
        "coin does not measure the claim 'toy.powers', though claims.yml expects a value at profile book.",
        "toy.powers: has a baseline but was not measured",
    ]
    assert (
        "3 values, the baseline has 2"
        in baselines.compare({"coin": result("coin", toy_half=0.5, toy_powers=[1, 2, 3])}, claims, stored, "book").faults[0]
    )


def test_values_of_a_text_are_kept_under_its_hash(claims):
    stored = baselines.updated({}, {"words": result("words", {"text": "a"}, toy_words=3.0)})
    other = {"words": result("words", {"text": "b"}, toy_words=9.0)}
    found = baselines.compare(other, claims, stored, "book")
    assert found.faults == []
    assert "only verdicts were checked" in found.notes[0]
    assert len(baselines.updated(stored, other)) == 2


def test_the_file_survives_a_round_trip_and_damage_is_named(tmp_path):
    path = tmp_path / "book.json"
    assert baselines.read_baseline(path) == {}
    baselines.write_baseline(path, {"-": {"toy.half": {"value": 0.5}}})
    assert baselines.read_baseline(path) == {"-": {"toy.half": {"value": 0.5}}}
    path.write_text("{")
    with pytest.raises(WorkflowError, match=r"book.json is not JSON"):
        baselines.read_baseline(path)
    path.write_text("[]")
    with pytest.raises(WorkflowError, match=r"book.json must hold an object, got list"):
        baselines.read_baseline(path)


def test_of_many_values_that_moved_the_first_is_shown(claims):
    stored = baselines.updated({}, {"coin": result("coin", toy_half=0.5, toy_powers=[1.0, 2.0, 3.0])})
    far = baselines.compare({"coin": result("coin", toy_half=0.5, toy_powers=[1.0, 2.5, 3.5])}, claims, stored, "book")
    assert far.faults == ["toy.powers: baseline 2, now 2.5, moved 0.5, band ± 0"]


def test_one_baseline_serves_many_notebooks_and_may_hold_claims_that_are_gone(claims):
    both = {"coin": result("coin", toy_half=0.5, toy_powers=[1.0, 2.0]), "words": result("words", toy_words=3.0)}
    stored = baselines.updated({}, both)
    stored["-"]["toy.gone"] = {"value": 1.0}
    assert baselines.compare(both, claims, stored, "book") == baselines.Comparison([], [])


def test_what_did_not_move_leaves_the_file_in_git_as_it_is(tmp_path):
    stored = ROOT / "tests" / "baselines" / "smoke.json"
    baselines.write_baseline(tmp_path / "smoke.json", baselines.read_baseline(stored))
    assert (tmp_path / "smoke.json").read_text() == stored.read_text()
