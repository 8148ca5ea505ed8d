import csv
import io
import json

import jsonschema
import pytest

from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.results.exports import ledger_csv, ledger_json, ledger_schema
from ntpcompanion.workflow.results.rows import Row, ledger_rows
from tests.toy import write_claims
from tests.workflow.claims.test_baselines import result


@pytest.fixture
def made(toy):
    """The rows of the toy project, and its results."""
    write_claims(toy.project, statement='"Half", or $1/2$', paper_value=0.25)
    item = Measurement.of("toy.half", 0.5, stderr=0.125, replicates=9, seed=3, records=["long"])
    results = {"coin": result("coin", toy_half=item, toy_powers=[2.0, 1.0])}
    return ledger_rows(load_claims(toy.project), results, "book"), results


def test_the_file_is_valid_and_the_schema_describes_every_field(made):
    schema = json.loads(ledger_schema())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(ledger_json(*made, "book")), schema)
    parts = [schema, *schema["$defs"].values()]
    fields = [field for part in parts for field in part["properties"].values()]
    assert len(fields) > 30
    assert all(field["description"] for field in fields)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data["claims"][0].pop("verdict"),
        lambda data: data["claims"][0].update(verdict="proved"),
        lambda data: data["claims"][0].update(values="0.5"),
        lambda data: data.update(more=1),
    ],
)
def test_the_schema_refuses_what_the_page_would_not_write(made, spoil):
    data = json.loads(ledger_json(*made, "book"))
    spoil(data)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, json.loads(ledger_schema()))


def test_json_holds_every_claim_and_the_runs_once(made):
    data = json.loads(ledger_json(*made, "book"))
    assert [row["id"] for row in data["claims"]] == ["toy.half", "toy.powers", "toy.words"]
    first = data["claims"][0]
    assert (first["values"], first["stderrs"], first["seed"]) == ([0.5], [0.125], 3)
    assert (first["records"], first["paper_value"]) == (["long"], 0.25)
    assert list(data["runs"]) == ["coin"]
    assert "hardware" not in first


def test_the_table_has_the_same_fields_and_numbers(made):
    lines = list(csv.DictReader(io.StringIO(ledger_csv(made[0]))))
    assert list(lines[0]) == list(Row.model_fields)
    assert [line["values"] for line in lines] == ["0.5", "2.0 1.0", ""]
    assert lines[0]["statement"] == '"Half", or $1/2$'
    assert lines[2]["verdict"] == "not measured"
