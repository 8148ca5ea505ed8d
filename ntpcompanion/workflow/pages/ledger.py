"""The ledger page: every claim in a row, folded by the paper's results, which `ledger.js` filters;
and its data for others: JSON, and a table of comma-separated values. The page `ledger` says what
their fields are.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ntpcompanion.workflow.claims.claims import BASES, KINDS, SCOPES, result_order
from ntpcompanion.workflow.claims.verdict import VERDICTS, JudgedClaim, half_widths
from ntpcompanion.workflow.pages.views import View
from ntpcompanion.workflow.running.results import Result

OF_CLAIM = ("id", "paper", "result", "locator", "kind", "basis", "scope")
OF_RUN = ("started", "seconds", "key", "parameters", "hardware", "versions")
Row = dict[str, Any]


class Ledger(View):
    """Counts, controls and rows of all claims."""

    @property
    def verdicts(self) -> list[str]:
        return [each for each in VERDICTS if any(r.verdict == each for r in self.judged.values())]

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        return Counter((one.claim.kind, one.verdict) for one in self.judged.values())

    @property
    def selects(self) -> list[tuple[str, str, dict[str, str]]]:
        """Name, label and options of the filters."""
        claims = [one.claim for one in self.judged.values()]
        names = {key: paper.name for key, paper in self.papers.items()}
        choices: list[tuple[str, str, dict[str, str]]] = [
            ("paper", "Paper", {c.paper: names.get(c.paper, c.paper) for c in claims}),
            ("chapter", "Chapter", {c.notebook: self.title(c.notebook) for c in claims}),
            ("kind", "Whose", KINDS),
            ("scope", "Setting", SCOPES),
            ("verdict", "Verdict", {verdict: verdict for verdict in self.verdicts}),
            ("basis", "Read from", BASES),
        ]
        return [(name, label, {"": "all", **options}) for name, label, options in choices]

    @property
    def groups(self) -> dict[str, dict[str, list[JudgedClaim]]]:
        """The claims by paper and result: papers as they come, results in their order."""
        papers: dict[str, dict[str, list[JudgedClaim]]] = {}
        for one in self.judged.values():
            results = papers.setdefault(one.claim.paper, {})
            results.setdefault(one.claim.result, []).append(one)
        return {
            paper: {result: results[result] for result in sorted(results, key=result_order)}
            for paper, results in papers.items()
        }


def data_row(judged: JudgedClaim) -> Row:
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
    writer.writerows(map(_cell, row.values()) for row in rows)
    return text.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(_cell, value))
    if isinstance(value, float):
        return repr(value)
    return "" if value is None else " ".join(str(value).split())
