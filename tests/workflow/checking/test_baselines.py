import json
import re

import pytest

from ntpcompanion.workflow.checking.value_comparison import (
    NO_INPUT,
    input_key,
    read_baseline,
    updated,
    write_baseline,
)
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.running.results import Result
from tests.refusing import refused
from tests.toy import ROOT


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


def test_an_update_drops_the_values_of_a_record_that_was_made_anew():
    other = result("words", {"text": "a", "record walk": "b"}, toy_words=3.0)
    stored = updated(
        {}, {"coin": result("coin", {"record walk": "b"}, toy_half=0.5), "words": other}
    )
    again = {"coin": result("coin", {"record walk": "c"}, toy_half=0.6)}
    new = updated(stored, again)
    assert sorted(len(values) for values in new.values()) == [1, 1]
    assert new[input_key(again["coin"])]["toy.half"].values == (0.6,)
    assert new[input_key(other)] == stored[input_key(other)]


def test_an_update_keeps_the_values_of_another_text_and_none_without_it():
    stored = updated({}, {"words": result("words", {"text": "a"}, toy_words=3.0)})
    both = updated(stored, {"words": result("words", {"text": "b"}, toy_words=9.0)})
    assert len(both) == 2
    now = result("words", toy_words=1.0)
    assert list(updated(both, {"words": now})) == [NO_INPUT]
    before = {NO_INPUT: {"toy.words": now.measurements[0]}}
    assert NO_INPUT not in updated(before, {"words": result("words", {"text": "a"}, toy_words=3.0)})


def test_an_update_keeps_what_was_not_run():
    stored = updated({}, {"coin": result("coin", {"record walk": "b"}, toy_half=0.5)})
    words = {"words": result("words", toy_words=3.0)}
    assert updated(stored, words).items() >= stored.items()


def test_values_of_claims_that_are_gone_are_dropped(claims):
    stored = updated({}, {"coin": result("coin", toy_half=0.5, toy_gone=1.0)})
    stored["text"] = {"toy.gone": stored["-"]["toy.gone"]}
    half = {"-": {"toy.half": stored["-"]["toy.half"]}}
    assert updated(stored, {}, claims) == half
    assert updated(stored, {}) == stored


def half(value, stderr=0.0, replicates=5):
    return Measurement.of("toy.half", value, stderr=stderr, replicates=replicates)


def test_the_file_survives_a_round_trip(tmp_path):
    path = tmp_path / "book.json"
    assert read_baseline(path) == {}
    items = {"toy.half": half(0.5, 0.1), "toy.powers": Measurement.of("toy.powers", [1.0, 2.0])}
    write_baseline(path, {"-": items})
    assert json.loads(path.read_text()) == {
        "-": {
            "toy.half": {"value": 0.5, "stderr": 0.1, "replicates": 5},
            "toy.powers": {"value": [1.0, 2.0]},
        }
    }
    assert read_baseline(path) == {"-": items}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "Expecting property name"),
        *((text, "each entry must hold a value and") for text in ("[]", '{"-": 5}')),
        ('{"-": {"a.b": 0.5}}', "if it is random, its stderr and replicates"),
        ('{"-": {"a.b": {"values": 1}}}', "each entry must hold a value"),
        ('{"-": {"a.b": {"value": NaN}}}', "`value` of 'a.b' is nan"),
        ('{"-": {"a.b": {"value": 1, "stderr": 1}}}', "`replicates` of 'a.b' is missing"),
        ("[" * 10_000, "recursion"),
    ],
)
def test_a_damaged_baseline_is_named(tmp_path, text, words):
    path = tmp_path / "book.json"
    path.write_text(text)
    with refused(rf"book.json cannot be read: .*{re.escape(words)}.*Restore it from git"):
        read_baseline(path)


def test_what_did_not_move_leaves_the_file_in_git_as_it_is(tmp_path):
    stored = ROOT / "tests" / "baselines" / "smoke.json"
    write_baseline(tmp_path / "smoke.json", read_baseline(stored))
    assert (tmp_path / "smoke.json").read_text() == stored.read_text()
