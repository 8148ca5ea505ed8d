import csv
import io
import json

import pytest

from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.results.ledger import ledger_csv, ledger_json, ledger_row
from tests.toy import ROOT, write_claims
from tests.workflow.checking.test_baselines import result


@pytest.fixture
def made(toy):
    """The rows of the toy project, and its results."""
    write_claims(toy.project, statement='"Half", or $1/2$', paper_value=0.25)
    item = Measurement.of("toy.half", 0.5, stderr=0.125, replicates=9, seed=3, records=["long"])
    results = {"coin": result("coin", toy_half=item, toy_powers=[2.0, 1.0])}
    return [*rows(toy, *results["coin"].measurements).values()], results


def rows(toy, *measurements):
    judged = judged_claims(load_claims(toy.project), measurements, "book")
    return {name: ledger_row(one) for name, one in judged.items()}


def test_json_holds_every_claim_and_the_runs_once(made):
    data = json.loads(ledger_json(*made, "book"))
    assert [row["id"] for row in data["claims"]] == ["toy.half", "toy.powers", "toy.words"]
    first = data["claims"][0]
    assert (first["values"], first["stderrs"], first["seed"]) == ([0.5], [0.125], 3)
    assert (first["records"], first["paper_value"]) == (["long"], 0.25)
    assert list(data["runs"]) == ["coin"]
    assert "hardware" not in first


def test_the_page_says_what_every_field_is(made):
    page = (ROOT / "book" / "ledger.md").read_text(encoding="utf-8")
    data = json.loads(ledger_json(*made, "book"))
    for name in (*data["claims"][0], *data["runs"]["coin"]):
        assert f"`{name}`" in page, name


def test_the_table_has_the_same_fields_and_numbers(made):
    lines = list(csv.DictReader(io.StringIO(ledger_csv(made[0]))))
    assert list(lines[0]) == list(made[0][0])
    assert [line["values"] for line in lines] == ["0.5", "2.0 1.0", ""]
    assert lines[0]["statement"] == '"Half", or $1/2$'
    assert (lines[2]["verdict"], lines[2]["effect"]) == ("not measured", "")
    assert lines[2]["url"] == "chapters/words.html"


def test_an_interval_is_that_of_students_t(toy):
    item = Measurement.of("toy.half", 0.5, stderr=0.1, replicates=2)
    row = rows(toy, item)["toy.half"]
    assert row["verdict"] == "inconclusive"
    assert row["high"][0] == pytest.approx(0.5 + 12.7062 * 0.1, abs=1e-4), "one degree of freedom"
    assert row["low"][0] == pytest.approx(1.0 - row["high"][0])
