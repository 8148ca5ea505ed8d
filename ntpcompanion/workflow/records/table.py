"""The results of a sweep as one tidy table: a row per run and claim of a notebook, a row per run of
an experiment.
"""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ntpcompanion.workflow.base.files import canonical_json, write_bytes_atomically

if TYPE_CHECKING:
    import pandas as pd

# what every row has; a parameter or a field of a result that is called like one of these, or like
# another, is a column `parameter_NAME` or `result_NAME`
COLUMNS = ("run", "state", "seconds", "host", "error", "traceback")
OF_CLAIMS = ("claim", "value", "stderr", "values", "stderrs", "replicates")


def make_table(lines: Sequence[Mapping], about: Mapping[str, object]) -> "pd.DataFrame":
    """The table of the lines of a journal, in their order; `about` becomes its `attrs`.

    Each line has `parameters`, `state`, `seconds`, `host`, `error`, `traceback` and `result`: for a
    notebook a dict with a list `claims` of measurements, for an experiment the fields of its
    result. A run without a result has one row, which holds its parameters and why.
    """
    import pandas as pd

    rows = [row for number, line in enumerate(lines) for row in _rows(number, line)]
    table = pd.DataFrame(rows, columns=list(dict.fromkeys(name for row in rows for name in row)))
    for name in table:
        table[name] = _column(table[name])
    table.attrs = dict(about)
    return table


def write_table(table: "pd.DataFrame", path: Path) -> None:
    """Write a Parquet file, whole or not at all."""
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    write_bytes_atomically(path, buffer.getvalue())


def _rows(number: int, line: Mapping) -> list[dict]:
    result = line["result"] or {}
    found = _claims(result["claims"]) if "claims" in result else [_prefixed(result, line)]
    own = {"run": number, "state": line["state"]}
    taken = {*COLUMNS, *OF_CLAIMS}
    named = {
        f"parameter_{name}" if name in taken else name: value
        for name, value in line["parameters"].items()
    }
    after = {name: line[name] for name in COLUMNS[2:]}
    if "notebook" in line:
        after["notebook"] = line["notebook"]
    return [{**own, **named, **values, **after} for values in found or [{}]]


def _prefixed(result: Mapping, line: Mapping) -> dict:
    taken = {*COLUMNS, *OF_CLAIMS, *line["parameters"]}
    return {f"result_{name}" if name in taken else name: value for name, value in result.items()}


def _claims(claims: Sequence[Mapping]) -> list[dict]:
    return [
        {
            "claim": item["id"],
            "value": None if isinstance(item["value"], list) else item["value"],
            "stderr": None if isinstance(item["stderr"], list) else item["stderr"],
            "values": _listed(item["value"]),
            "stderrs": _listed(item["stderr"]),
            "replicates": item["replicates"],
        }
        for item in claims
    ]


def _listed(value: object) -> list:
    return value if isinstance(value, list) else [value]


def _column(column: "pd.Series") -> "pd.Series":
    """A column that Parquet can hold: what is nested, or of several kinds, as JSON text."""
    present = [value for value in column if not _missing(value)]
    kinds = {type(value) for value in present}
    inner = {type(item) for value in present if isinstance(value, list) for item in value}
    numbers = {int, float}
    if kinds <= numbers or (
        len(kinds) == 1
        and kinds != {dict}
        and (kinds != {list} or inner <= numbers or (len(inner) == 1 and not inner & {list, dict}))
    ):
        if kinds == {list} and inner == numbers:
            return column.map(lambda v: v if _missing(v) else [float(item) for item in v])
        return column
    return column.map(lambda v: None if _missing(v) else canonical_json(v))


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)
