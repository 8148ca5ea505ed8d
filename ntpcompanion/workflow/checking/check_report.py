"""The report of a check as data: every claim of a profile with its number, baseline, verdict and
what is wrong with it.
"""

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.texts import read_text
from ntpcompanion.workflow.checking.value_comparison import Finding, Kind
from ntpcompanion.workflow.claims.baselines import Baselines, Run, input_key
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import JudgedClaim, Verdict

SCHEMA = "https://json-schema.org/draft/2020-12/schema"
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


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Number(_Data):
    """A measured value, or several whose order a claim is about."""

    values: Annotated[list[float], Field(description="The numbers.")]
    stderrs: Annotated[list[float], Field(description="Standard error of each; 0: exact.")]
    replicates: Annotated[
        int | None, Field(description="Independent replicates behind the standard errors.")
    ]

    @classmethod
    def of(cls, item: Measurement | None) -> "Number | None":
        """The number of a measurement; None where there is none."""
        if item is None:
            return None
        return cls(values=list(item.values), stderrs=list(item.errors), replicates=item.replicates)


class _Placed(_Data):
    notebook: Annotated[str, Field(description="Name of the notebook.")]
    file: Annotated[str, Field(description="Text notebook, relative to the folder of the project.")]
    line: Annotated[int, Field(description="Line that names the claim; 1 where there is none.")]


class Reported(_Placed):
    """One finding, and the place that it points at."""

    kind: Annotated[
        Kind,
        Field(
            description="moved: the number left its band or its error. verdict: not the expected "
            "one. missing: not measured. unknown: measured, but no claim. new: no baseline yet. "
            "borderline: another verdict, though the number did not move. not compared: nothing is "
            "stored for the text of this notebook."
        ),
    ]
    fault: Annotated[bool, Field(description="Whether it turns the build red.")]
    claim: Annotated[str | None, Field(description="Id of the claim; null: of the notebook.")]
    text: Annotated[str, Field(description="What is wrong, in a sentence.")]
    advice: Annotated[
        str, Field(description="What to do about it; empty where the text says it.")
    ] = ""


class Checked(_Placed):
    """One claim that the profile measures, or should."""

    id: Annotated[str, Field(description="Stable name of the claim.")]
    short: Annotated[str | None, Field(description="The claim in plain words; null: none given.")]
    measured: Annotated[Number | None, Field(description="The number now; null: not measured.")]
    baseline: Annotated[Number | None, Field(description="The stored number; null: none.")]
    verdict: Annotated[Verdict, Field(description="Computed from number and expectation.")]
    expected_verdict: Annotated[
        Literal["supported", "refuted", "inconclusive"] | None,
        Field(description="What the claims file expects; null: it is not judged here."),
    ]


class Report(_Data):
    """The outcome of `ntpcompanion check`."""

    model_config = ConfigDict(json_schema_extra={"title": "Report of ntpcompanion check"})

    profile: Annotated[str, Field(description="smoke, book or paper.")]
    outcome: Annotated[
        Literal["agrees", "differs", "error"],
        Field(description="error: nothing could be compared, and `error` says why."),
    ]
    error: Annotated[str | None, Field(description="Why nothing could be compared.")] = None
    values: Annotated[int, Field(description="How many measured values were compared.")] = 0
    findings: Annotated[list[Reported], Field(description="All faults and notes.")] = []
    claims: Annotated[list[Checked], Field(description="In the order of the claims file.")] = []

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
    """The report as indented JSON, as `report_schema` describes it."""
    return json.dumps(report.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"


def report_schema() -> dict[str, Any]:
    """The JSON Schema of `report_json`, with a description of every field."""
    return {"$schema": SCHEMA, **Report.model_json_schema(mode="serialization")}
