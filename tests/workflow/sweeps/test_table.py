import pandas as pd
import pytest

from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.sweeps.sweep import make_table, write_table

AFTER = {"seconds": 1.5, "host": "here", "error": "", "traceback": ""}


def line(result, state="done", **parameters):
    return {"parameters": parameters, "state": state, "result": result, **AFTER}


def test_claims_are_rows():
    claims = [
        Measurement.of("a.one", 0.5, stderr=0.1, replicates=4).to_json(),
        Measurement.of("a.two", [1.0, 2.0]).to_json(),
    ]
    lines = [line({"claims": claims}, n=1, value="a"), line(None, "failed", n=2, value="b")]
    table = make_table(lines, {"name": "toy"}, of_claims=True)
    assert list(table["run"]) == [0, 0, 1]
    assert list(table["claim"].fillna("")) == ["a.one", "a.two", ""]
    assert table["value"][0] == 0.5
    assert table["stderr"][0] == 0.1
    assert table["replicates"][0] == 4
    assert pd.isna(table["value"][1])
    assert table["values"][1] == [1.0, 2.0]
    assert list(table["parameter_value"]) == ["a", "a", "b"], "a parameter called like a column"
    assert list(table["state"]) == ["done", "done", "failed"]


def test_fields_of_a_result_are_columns_that_parquet_can_hold(tmp_path):
    results = [
        {"n": 2, "loss": 0.5, "curve": [1, 0.5], "by_part": {"a": 1}, "mixed": 1, "state": "x"},
        {"n": 4, "loss": None, "curve": [], "by_part": {"b": [1]}, "mixed": "one", "state": "y"},
    ]
    lines = [line(result, n=k) for k, result in enumerate(results)]
    table = make_table([*lines, line(None, "killed", n=3)], {"name": "toy"}, of_claims=False)
    path = tmp_path / "deep" / "table.parquet"
    write_table(table, path)
    read = pd.read_parquet(path)
    assert read.attrs == {"name": "toy"}
    assert list(read["n"]) == [0, 1, 3]
    assert list(read["result_n"][:2]) == [2, 4]
    assert list(read["result_state"][:2]) == ["x", "y"]
    assert list(read["state"]) == ["done", "done", "killed"]
    assert list(read["curve"][0]) == [1.0, 0.5]
    assert list(read["by_part"][:2]) == ['{"a":1}', '{"b":[1]}']
    assert list(read["mixed"][:2]) == ["1", '"one"']


@pytest.mark.parametrize(
    ("values", "stored"),
    [
        ([2**63 - 1, -(2**63)], [2**63 - 1, -(2**63)]),
        ([2**63, 1], ["9223372036854775808", "1"]),
        ([-(2**70), 1], ["-1180591620717411303424", "1"]),
        ([2**53 + 1, None], ["9007199254740993", None]),
        ([2**53 + 1, 0.5], ["9007199254740993", "0.5"]),
        ([2**40, 0.5], [2.0**40, 0.5]),
        ([[2**70], [1]], ["[1180591620717411303424]", "[1]"]),
        ([[2**53 + 1, 0.5], [1]], ["[9007199254740993,0.5]", "[1]"]),
    ],
)
def test_integers_that_a_column_of_numbers_cannot_hold_are_texts(tmp_path, values, stored):
    lines = [line({"value": value}, n=value) for value in values]
    write_table(make_table(lines, {}, of_claims=False), tmp_path / "table.parquet")
    read = pd.read_parquet(tmp_path / "table.parquet")
    for column in ("value", "n"):
        # a missing text is None or NaN, as pandas is set
        assert [None if each != each else each for each in read[column]] == stored
