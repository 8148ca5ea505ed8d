"""The results of a sweep as one tidy table: a row per run and claim of a notebook, a row per run of
an experiment.
"""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ntpcompanion.workflow.base.files import canonical_json, write_bytes_atomically

if TYPE_CHECKING:
    import pandas as pd

# what every row has; a parameter that is called like one of these is a column `parameter_NAME`,
# and a field of a result that is called like one, or like a parameter, `result_NAME`
COLUMNS = ("run", "state", "seconds", "host", "error", "traceback")
OF_CLAIMS = ("claim", "value", "stderr", "values", "stderrs", "replicates")


def make_table(
    lines: Sequence[Mapping[str, Any]], about: Mapping[str, Any], *, of_claims: bool
) -> "pd.DataFrame":
    """The table of the lines of a journal, in their order; `about` becomes its `attrs`.

    Each line has `parameters`, `state`, `seconds`, `host`, `error`, `traceback` and `result`: with
    `of_claims` a dict with a list `claims` of measurements, else the fields of the result of an
    experiment. A run without a result has one row, which holds its parameters and why.
    """
    import pandas as pd

    rows = [row for number, line in enumerate(lines) for row in _rows(number, line, of_claims)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    # before pandas has made numbers of them: it would round large integers beside missing values
    table = pd.DataFrame({name: _column([row.get(name) for row in rows]) for name in names})
    table.attrs.update(about)
    return table


def write_table(table: "pd.DataFrame", path: Path) -> None:
    """Write a Parquet file, whole or not at all."""
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    write_bytes_atomically(path, buffer.getvalue())


def _rows(number: int, line: Mapping[str, Any], of_claims: bool) -> list[dict[str, Any]]:
    taken = {*COLUMNS, *OF_CLAIMS} if of_claims else set(COLUMNS)
    parameters, result = line["parameters"], line["result"]
    before = {"run": number, "state": line["state"], **_prefixed("parameter", parameters, taken)}
    after = {name: line[name] for name in (*COLUMNS[2:], "notebook") if name in line}
    rows: list[dict[str, Any]] = [{}]
    if result is not None and of_claims:
        rows = _claims(result["claims"]) or rows
    elif result is not None:
        rows = [_prefixed("result", result, taken | set(parameters))]
    return [{**before, **values, **after} for values in rows]


def _prefixed(prefix: str, values: Mapping[str, Any], taken: set[str]) -> dict[str, Any]:
    return {f"{prefix}_{name}" if name in taken else name: values[name] for name in values}


def _claims(claims: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
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


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _column(values: Sequence[Any]) -> Sequence[Any]:
    """A column that Parquet can hold and pandas reads back unchanged; what is nested or of several
    kinds, and integers that would be rounded, as JSON text.
    """
    import pyarrow as pa

    present = [None if _missing(value) else value for value in values]
    try:
        array = pa.array(present)
        entries = array.flatten() if pa.types.is_list(array.type) else array
        if pa.types.is_integer(array.type) and array.null_count:
            array.cast(pa.float64())  # as pandas does it: raises where one would be rounded
        plain = not pa.types.is_nested(entries.type) and (
            entries is array or not entries.null_count
        )
    except (pa.ArrowException, OverflowError):
        plain = False
    if plain:
        return values
    return [None if value is None else canonical_json(value) for value in present]


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)
