"""The ledger as data for others: JSON with a schema, and a table of comma-separated values."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ntpcompanion.workflow.results.rows import Row
from ntpcompanion.workflow.running.results import Result

SCHEMA_NAME = "ledger.schema.json"


class LedgerRun(BaseModel):
    """One run of a notebook, on which rows of its chapter rest."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    started: Annotated[str, Field(description="Time in UTC, ISO 8601.")]
    seconds: Annotated[float, Field(description="Duration.")]
    key: Annotated[str, Field(description="Hash of all that decides its numbers.")]
    parameters: Annotated[dict[str, Any], Field(description="What it was run with.")]
    hardware: Annotated[dict[str, Any], Field(description="The machine; memory in GiB.")]
    versions: Annotated[dict[str, str], Field(description="Python and the numeric libraries.")]


class LedgerFile(BaseModel):
    """The whole ledger: every claim once, and the runs that measured them."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, json_schema_extra={"title": "Ledger of claims"}
    )

    schema_file: Annotated[str, Field(description="Name of the JSON Schema of this file.")]
    profile: Annotated[str, Field(description="smoke, book or paper.")]
    runs: Annotated[dict[str, LedgerRun], Field(description="By name of the notebook.")]
    claims: Annotated[list[Row], Field(description="In the order of the claims file.")]


def ledger_json(rows: Sequence[Row], results: Mapping[str, Result], profile: str) -> str:
    """The ledger as indented JSON."""
    runs = {
        name: LedgerRun(
            started=result.started,
            seconds=result.seconds,
            key=result.key,
            parameters=result.parameters,
            hardware=dict(result.hardware),
            versions=result.versions,
        )
        for name, result in results.items()
    }
    made = LedgerFile(schema_file=SCHEMA_NAME, profile=profile, runs=runs, claims=list(rows))
    return _indented(made.model_dump(mode="json"))


def ledger_schema() -> str:
    """The JSON Schema of `ledger_json`, with a description of every field."""
    schema = LedgerFile.model_json_schema(mode="serialization")
    return _indented({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


def ledger_csv(rows: Sequence[Row]) -> str:
    """A line for each claim under the names of the schema; several numbers are parted by spaces."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row.model_fields)
    for row in rows:
        writer.writerow([_cell(value) for value in row.model_dump().values()])
    return text.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(_cell, value))
    if isinstance(value, float):
        return repr(value)
    return "" if value is None else " ".join(str(value).split())


def _indented(data: object) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
