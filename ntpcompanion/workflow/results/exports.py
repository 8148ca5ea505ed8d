"""The ledger as data for others: JSON, and a table of comma-separated values. The page `ledger`
says what the fields are.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ntpcompanion.workflow.claims.intervals import half_widths
from ntpcompanion.workflow.claims.verdict import JudgedClaim
from ntpcompanion.workflow.running.results import Result

OF_CLAIM = ("id", "paper", "result", "locator", "kind", "basis", "scope")
OF_RUN = ("started", "seconds", "key", "parameters", "hardware", "versions")
Row = dict[str, Any]


def ledger_row(judged: JudgedClaim) -> Row:
    """A claim with what was measured for it."""
    claim, item, expectation = judged.claim, judged.measurement, judged.expectation
    values, errors = (item.values, item.errors) if item else ((), ())
    ends = [*zip(values, half_widths(item) if item else (), strict=True)]
    return {
        **{name: getattr(claim, name) for name in OF_CLAIM},
        "short": claim.words,
        "statement": claim.statement,
        "quantity": claim.quantity or "",
        "measures": claim.measures,
        "source": claim.source,
        "chapter": claim.notebook,
        "url": judged.url,
        "profile": judged.profile,
        "verdict": judged.verdict,
        "expected": expectation.describe() if expectation else None,
        "expected_verdict": claim.expected_verdict if expectation else None,
        "paper_value": claim.paper_value,
        "values": list(values),
        "stderrs": list(errors),
        "low": [value - width for value, width in ends],
        "high": [value + width for value, width in ends],
        "replicates": item.replicates if item else None,
        "seed": item.seed if item else None,
        "effect": judged.effect,
        "records": list(item.records) if item else [],
    }


def ledger_json(rows: Sequence[Row], results: Mapping[str, Result], profile: str) -> str:
    """The ledger as indented JSON: every claim once, and the runs that measured them."""
    runs = {name: {key: getattr(one, key) for key in OF_RUN} for name, one in results.items()}
    data = {"profile": profile, "runs": runs, "claims": rows}
    return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def ledger_csv(rows: Sequence[Row]) -> str:
    """A line for each claim under the names of its fields; several numbers are parted by spaces."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0] if rows else ())
    for row in rows:
        writer.writerow(map(_cell, row.values()))
    return text.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(_cell, value))
    if isinstance(value, float):
        return repr(value)
    return "" if value is None else " ".join(str(value).split())
