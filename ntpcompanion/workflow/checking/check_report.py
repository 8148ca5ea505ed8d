"""The report of a check as data: every claim of a profile with its number, baseline, verdict and
what is wrong with it.
"""

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.texts import read_text
from ntpcompanion.workflow.checking.value_comparison import Finding, Kind
from ntpcompanion.workflow.claims.baselines import Baselines, Run, input_key
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import JudgedClaim, Verdict

# what to do about a finding; nothing about a note, and where the finding says it
ADVICE: dict[Kind, str] = {
    "moved": "If the new number is right, accept it: `ntpcompanion check --profile {profile} "
    "--update`, and commit `tests/baselines/{profile}.json`. If not, fix the change that moved "
    "it.",
    "new": "If the number is right, store it: `ntpcompanion check --profile {profile} --update`, "
    "and commit `tests/baselines/{profile}.json`.",
    "verdict": "A verdict is computed from the number and from `expect`. If both are right, the "
    "verdict is a result: write it as `expected_verdict` of the claim in `book/claims.yml`.",
    "missing": "Measure the claim in its notebook, or take it out of `book/claims.yml`.",
}


@dataclass(frozen=True)
class Number:
    """A measured value, or several whose order a claim is about; standard errors are 0 where the
    number is exact, and `replicates` are those behind them.
    """

    values: list[float]
    stderrs: list[float]
    replicates: int | None

    @classmethod
    def of(cls, item: Measurement | None) -> "Number | None":
        """The number of a measurement; None where there is none."""
        return cls(list(item.values), list(item.errors), item.replicates) if item else None


@dataclass(frozen=True, kw_only=True)
class _Placed:
    notebook: str
    file: str
    line: int


@dataclass(frozen=True, kw_only=True)
class Reported(_Placed):
    """One finding, whether it is a `fault`, which turns the build red, and the place that it points
    at: the text notebook, relative to the folder of the project, and the line that names the claim,
    1 where there is none. `advice` says what to do; it is empty where the text says it.
    """

    kind: Kind
    fault: bool
    claim: str | None
    text: str
    advice: str = ""


@dataclass(frozen=True, kw_only=True)
class Checked(_Placed):
    """One claim that the profile measures, or should: its number now and the stored one, None where
    there is none, and the verdict that the claims file expects, None where it is not judged.
    """

    id: str
    short: str | None
    measured: Number | None
    baseline: Number | None
    verdict: Verdict
    expected_verdict: str | None


@dataclass(frozen=True, kw_only=True)
class Report:
    """The outcome of `ntpcompanion check`: "error" where nothing could be compared, and `error`
    says why; how many `values` were compared; all findings; the claims in the order of their file.
    """

    profile: str
    outcome: Literal["agrees", "differs", "error"]
    error: str | None = None
    values: int = 0
    findings: list[Reported] = field(default_factory=list[Reported])
    claims: list[Checked] = field(default_factory=list[Checked])

    @property
    def faults(self) -> list[Reported]:
        """What turns the build red."""
        return [finding for finding in self.findings if finding.fault]

    @property
    def notes(self) -> list[Reported]:
        """What is worth a look, and no fault."""
        return [finding for finding in self.findings if not finding.fault]

    @property
    def advice(self) -> list[str]:
        """What to do about the faults, each sentence once."""
        return list(dict.fromkeys(finding.advice for finding in self.faults if finding.advice))

    def about(self, claim: str) -> list[Reported]:
        """The findings on one claim."""
        return [finding for finding in self.findings if finding.claim == claim]


def make_report(
    project: Project,
    results: Mapping[str, Run],
    judged: Mapping[str, JudgedClaim],
    stored: Baselines,
    profile: str,
    findings: Sequence[Finding],
) -> Report:
    """The report of what a comparison of stored runs with stored values has found."""

    @functools.cache
    def lines(file: Path) -> list[str]:
        try:
            return read_text(file).split("\n")
        except WorkflowError:
            return []

    def place(notebook: str, claim: str | None) -> dict[str, Any]:
        file = project.notebooks / f"{notebook}.md"
        line = line_of(lines(file), claim) if claim else 1
        return {
            "notebook": notebook, "file": file.relative_to(project.root).as_posix(), "line": line,
        }  # fmt: skip

    before = {
        claim: item
        for result in results.values()
        for claim, item in stored.get(input_key(result), {}).items()
    }
    return Report(
        profile=profile,
        outcome="differs" if any(finding.fault for finding in findings) else "agrees",
        values=sum(len(result.measurements) for result in results.values()),
        findings=[
            Reported(
                **{**asdict(each), **place(each.notebook, each.claim)},
                fault=each.fault,
                advice=ADVICE.get(each.kind, "").format(profile=profile),
            )
            for each in findings
        ],
        claims=[
            Checked(
                id=name,
                short=one.claim.short,
                measured=Number.of(one.measurement),
                baseline=Number.of(before.get(name)),
                verdict=one.verdict,
                expected_verdict=one.claim.expected_verdict if one.expectation else None,
                **place(one.claim.notebook, name),
            )
            for name, one in judged.items()
            if one.claim.measured_at(profile) or one.measurement
        ],
    )


def line_of(lines: Sequence[str], claim: str) -> int:
    """The line of a text notebook that names a claim, counted from 1: that of `measure` before any
    other, such as one of a table over which a cell loops. 1 where there is none.
    """
    named = [
        n for n, line in enumerate(lines, 1) if re.search(f"[\"']{re.escape(claim)}[\"']", line)
    ]
    return min(named, key=lambda n: "measure(" not in lines[n - 1], default=1)


def report_json(report: Report) -> str:
    """The report as indented JSON, under the names of its fields."""
    return json.dumps(asdict(report), indent=1, ensure_ascii=False) + "\n"
