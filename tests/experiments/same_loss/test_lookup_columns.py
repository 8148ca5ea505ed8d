import json

import pytest

from ntpcompanion.experiments.same_loss.lookup_columns import PARTS, Plan, run
from tests.experiments.cases import RECORDS
from tests.experiments.study_cases import SUITE, VALUES

RIGHT = {"language": VALUES["language"], "suite": SUITE, "suite_seed": 0}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("language", "hmm-9", "`language"),
        ("suite", {**SUITE, "inputs": 101}, "`inputs` must be at most the 100 `sentences`"),
    ],
)
def test_a_wrong_field_is_named(name, value, words):
    with pytest.raises(ValueError, match=words):
        Plan.from_json(RIGHT | {name: value})


def test_of_a_word_that_shows_its_state_a_probe_reads_the_words_and_not_the_table():
    """Two states that are drawn anew at every word, and share no word: the context says nothing."""
    language = {**VALUES["language"], "transition": 1e18, "emission": 1e-3, "words": 12, "seed": 3}
    suite = {**SUITE, "places": [2], "examples": [400, 400]}
    found = run(Plan.from_json({"language": language, "suite": suite}))
    assert set(found.accuracy) == set(PARTS)
    assert found.bayes > 0.9
    for name, value in found.accuracy.items():
        assert (value > 0.85) == ("words" in name), name
    assert found == run(Plan.from_json({"language": language, "suite": suite}))


def test_stored_results_repeat_those_of_the_study():
    rows = json.loads((RECORDS / "lookup_columns.json").read_text(encoding="utf-8"))["results"]
    for row, study in zip(
        [row for row in rows if row["parameters"]["suite_seed"] == 0],
        ("downstream_hmm8", "downstream_hmm6"),
        strict=True,
    ):
        stored = json.loads((RECORDS / f"{study}.json").read_text(encoding="utf-8"))["results"]
        exact = stored[0]["result"]["references"]["1"]
        own = row["result"]["accuracy"]
        assert own["Pr"] == pytest.approx(exact["lookup"]["full"], abs=1e-4)
        assert own["words"] == pytest.approx(exact["words"]["full"], abs=1e-4)
        assert row["result"]["bayes"] == pytest.approx(exact["bayes"], abs=1e-9)
