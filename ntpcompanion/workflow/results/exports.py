"""The ledger as data for others: JSON with a schema, and a table of comma-separated values."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ntpcompanion.workflow.claims.intervals import half_widths
from ntpcompanion.workflow.claims.verdict import JudgedClaim, Verdict
from ntpcompanion.workflow.running.results import Result

SCHEMA_NAME = "ledger.schema.json"
# what a row repeats of its claim
OF_CLAIM = {"id", "paper", "locator", "kind", "basis", "scope", "statement", "measures", "source"}
OF_CLAIM |= {"paper_value"}


class Row(BaseModel):
    """One claim with what was measured for it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(description="Stable name of the claim.")]
    paper: Annotated[str, Field(description="Key of the paper in references.bib.")]
    result: Annotated[str, Field(description="The paper's result that the claim is about.")]
    locator: Annotated[str, Field(description="Where in the paper, and which aspect.")]
    kind: Annotated[
        Literal["stated", "reading", "slip", "ours"],
        Field(
            description="Whose claim: stated by the paper; one reading of it; a printing error "
            "and its correction; a question of this book."
        ),
    ]
    basis: Annotated[
        Literal["text", "code", "abstract", "secondary", "derived"],
        Field(description="What the statement was read from."),
    ]
    scope: Annotated[
        Literal["same", "smaller", "text"],
        Field(description="Our setting: the paper's, a smaller one, or one text only."),
    ]
    short: Annotated[str, Field(description="The claim in plain words.")]
    statement: Annotated[str, Field(description="The claim in full; `$...$` is TeX.")]
    quantity: Annotated[str, Field(description="What the number is, with its unit.")]
    measures: Annotated[str, Field(description="How the number is measured.")]
    source: Annotated[str, Field(description="Where the expected number comes from.")]
    chapter: Annotated[str, Field(description="Name of the notebook that measures it.")]
    url: Annotated[str, Field(description="Page and card, relative to the root of the site.")]
    profile: Annotated[str, Field(description="The parameters it was run with.")]
    verdict: Annotated[Verdict, Field(description="Computed from value, error and expectation.")]
    expected: Annotated[str | None, Field(description="What is expected; null: not judged.")]
    expected_verdict: Annotated[
        Literal["supported", "refuted", "inconclusive"] | None,
        Field(description="The verdict that the authors of the book expect; null: none."),
    ]
    paper_value: Annotated[float | str | None, Field(description="What the paper prints.")]
    values: Annotated[list[float], Field(description="The measured numbers; empty: none.")]
    stderrs: Annotated[list[float], Field(description="Standard error of each; 0: exact.")]
    low: Annotated[list[float], Field(description="Lower ends of the 95 % intervals.")]
    high: Annotated[list[float], Field(description="Upper ends of the 95 % intervals.")]
    replicates: Annotated[
        int | None, Field(description="Independent replicates behind the standard errors.")
    ]
    seed: Annotated[int | None, Field(description="Seed of what was drawn.")]
    effect: Annotated[
        float | None,
        Field(
            description="Distance of one number from the edge of what is expected, in units of "
            "the expected number or of its tolerance; negative outside. Null: several numbers, "
            "or no such unit."
        ),
    ]
    records: Annotated[list[str], Field(description="Recorded runs that the number comes from.")]

    @classmethod
    def of(cls, judged: JudgedClaim) -> "Row":
        """The row of a judged claim."""
        claim, item, expectation = judged.claim, judged.measurement, judged.expectation
        values, errors = (item.values, item.errors) if item else ((), ())
        ends = [*zip(values, half_widths(item) if item else (), strict=True)]
        return cls(
            **claim.model_dump(include=OF_CLAIM),
            result=claim.result,
            short=claim.words,
            quantity=claim.quantity or "",
            chapter=claim.notebook,
            url=judged.url,
            profile=judged.profile,
            verdict=judged.verdict,
            expected=expectation.describe() if expectation else None,
            expected_verdict=claim.expected_verdict if expectation else None,
            values=list(values),
            stderrs=list(errors),
            low=[value - width for value, width in ends],
            high=[value + width for value, width in ends],
            replicates=item.replicates if item else None,
            seed=item.seed if item else None,
            effect=judged.effect,
            records=list(item.records) if item else [],
        )


class LedgerRun(BaseModel):
    """One run of a notebook, on which rows of its chapter rest."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)

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
    runs = {name: LedgerRun.model_validate(result) for name, result in results.items()}
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
