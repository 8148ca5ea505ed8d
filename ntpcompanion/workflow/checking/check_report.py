"""The report of a check as data: every claim of a profile with its number, baseline, verdict and
what is wrong with it.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking.advice import what_to_do
from ntpcompanion.workflow.checking.claim_positions import measure_lines
from ntpcompanion.workflow.checking.value_comparison import Comparison, Finding, Kind
from ntpcompanion.workflow.claims.baselines import Baselines, Run, input_key
from ntpcompanion.workflow.claims.claims import Claim
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import Verdict, judge

SCHEMA = "https://json-schema.org/draft/2020-12/schema"


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


class Reported(_Data):
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
    notebook: Annotated[str, Field(description="Name of the notebook.")]
    claim: Annotated[str | None, Field(description="Id of the claim; null: of the notebook.")]
    file: Annotated[str, Field(description="Text notebook, relative to the folder of the project.")]
    line: Annotated[int, Field(description="Line of the `measure` call; 1 where there is none.")]
    text: Annotated[str, Field(description="What is wrong, in a sentence.")]
    advice: Annotated[
        str, Field(description="What to do about it; empty where the text says it.")
    ] = ""


class Checked(_Data):
    """One claim that the profile measures, or should."""

    id: Annotated[str, Field(description="Stable name of the claim.")]
    short: Annotated[str | None, Field(description="The claim in plain words; null: none given.")]
    notebook: Annotated[str, Field(description="Name of the notebook that measures it.")]
    file: Annotated[str, Field(description="Text notebook, relative to the folder of the project.")]
    line: Annotated[int, Field(description="Line of the `measure` call; 1 where there is none.")]
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
    claims: Mapping[str, Claim],
    stored: Baselines,
    profile: str,
    comparison: Comparison,
) -> Report:
    """The report of the `comparison` of stored runs with stored values."""
    lines = {
        name: measure_lines(project.notebooks / f"{name}.md")
        for name in {*results, *(claim.notebook for claim in claims.values())}
    }

    def place(notebook: str, claim: str | None) -> dict[str, Any]:
        file = (project.notebooks / f"{notebook}.md").relative_to(project.root).as_posix()
        line = lines.get(notebook, {}).get(claim or "", 1)
        return {"notebook": notebook, "file": file, "line": line}

    def reported(finding: Finding) -> Reported:
        where = place(finding.notebook, finding.claim)
        return Reported(
            kind=finding.kind,
            fault=finding.fault,
            claim=finding.claim,
            text=finding.text,
            advice=what_to_do(finding.kind, profile),
            **where,
        )

    measured = {item.claim: item for result in results.values() for item in result.measurements}
    before = {
        claim: item
        for result in results.values()
        for claim, item in stored.get(input_key(result), {}).items()
    }
    return Report(
        profile=profile,
        outcome="differs" if comparison.faults else "agrees",
        values=sum(len(result.measurements) for result in results.values()),
        findings=[reported(finding) for finding in comparison.findings],
        claims=[
            Checked(
                **_judged(claim, profile, measured.get(name), before.get(name)),
                **place(claim.notebook, name),
            )
            for name, claim in claims.items()
            if claim.measured_at(profile) or name in measured
        ],
    )


def _judged(
    claim: Claim, profile: str, item: Measurement | None, before: Measurement | None
) -> dict[str, Any]:
    judgement = judge(claim, profile, item)
    return {
        "id": claim.id,
        "short": claim.short,
        "measured": Number.of(item),
        "baseline": Number.of(before),
        "verdict": judgement.verdict,
        "expected_verdict": claim.expected_verdict if judgement.expectation else None,
    }


def report_json(report: Report) -> str:
    """The report as indented JSON, as `report_schema` describes it."""
    return json.dumps(report.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"


def report_schema() -> dict[str, Any]:
    """The JSON Schema of `report_json`, with a description of every field."""
    return {"$schema": SCHEMA, **Report.model_json_schema(mode="serialization")}
