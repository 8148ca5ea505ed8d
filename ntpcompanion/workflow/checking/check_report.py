"""The stored runs of a profile compared with its baseline: what was found and what to do, as
Markdown for a pull request, and as data.
"""

import dataclasses
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking.value_comparison import (
    Baselines,
    Finding,
    Kind,
    compare,
    input_key,
    read_baseline,
    updated,
    write_baseline,
)
from ntpcompanion.workflow.claims.claims import Claim, load_claims
from ntpcompanion.workflow.claims.formatting import show
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import JudgedClaim, judged_claims
from ntpcompanion.workflow.running.results import Result

SUMMARY = "GITHUB_STEP_SUMMARY"  # GitHub's own: the file to which steps append
LIST_SHOWN = 3  # values of a claim about several
# what to do about a finding; nothing about a note, and where the finding says it
ADVICE: dict[Kind, str] = {
    "moved": "If the new number is right, accept it: `ntpcompanion check --profile {profile} "
    "--update`, and commit `tests/baselines/{profile}.json`. If not, fix the change that moved "
    "it.",
    "new": "If the number is right, store it: `ntpcompanion check --profile {profile} --update`, "
    "and commit `tests/baselines/{profile}.json`.",
    "verdict": "A verdict is computed from the number and from `expect`. If both are right, the "
    "verdict is a result: write it as `expected_verdict` of the claim.",
    "missing": "Measure the claim in its notebook, or take it out of the claims in `book`.",
}


@dataclass(frozen=True, kw_only=True)
class Report:
    """The outcome of `ntpcompanion check`: where nothing could be compared, `error` says why; how
    many `values` were compared; all findings; and by id the claims that the profile measures, or
    should, in the order of their file, and the `stored` numbers.
    """

    profile: str
    error: str | None = None
    values: int = 0
    findings: Sequence[Finding] = ()
    claims: Mapping[str, JudgedClaim] = field(default_factory=dict[str, JudgedClaim])
    stored: Mapping[str, Measurement] = field(default_factory=dict[str, Measurement])

    @property
    def faults(self) -> list[Finding]:
        """What turns the build red."""
        return [finding for finding in self.findings if finding.fault]

    @property
    def notes(self) -> list[Finding]:
        """What is worth a look, and no fault."""
        return [finding for finding in self.findings if not finding.fault]

    @property
    def advice(self) -> list[str]:
        """What to do about the faults, each sentence once."""
        return list(dict.fromkeys(filter(None, map(self.advice_on, self.faults))))

    def advice_on(self, finding: Finding) -> str:
        return ADVICE.get(finding.kind, "").format(profile=self.profile)


def check_results(project: Project, results: Mapping[str, Result], profile: str) -> Report:
    stored = read_baseline(project.baseline(profile))
    return make_report(load_claims(project), results, stored, profile)


def accept(project: Project, results: Mapping[str, Result], profile: str) -> Path:
    """Make the values of stored results the baseline of the profile; return its file. Raises
    WorkflowError if claims or baseline cannot be read, or the baseline not be written.
    """
    path = project.baseline(profile)
    stored = read_baseline(path)
    write_baseline(path, updated(stored, results, load_claims(project)))
    return path


def make_report(
    claims: Mapping[str, Claim], results: Mapping[str, Result], stored: Baselines, profile: str
) -> Report:
    items = [item for result in results.values() for item in result.measurements]
    judged = judged_claims(claims, items, profile)
    return Report(
        profile=profile,
        values=len(items),
        findings=compare(results, judged, stored, profile),
        claims={
            name: one
            for name, one in judged.items()
            if one.claim.measured_at(profile) or one.measurement
        },
        stored={
            name: item
            for result in results.values()
            for name, item in stored.get(input_key(result), {}).items()
            if name in claims and claims[name].notebook == result.notebook
        },
    )


def markdown(report: Report) -> str:
    """A few lines for the summary of a job or a pull request: how many claims agree, and a table of
    the claims that do not.
    """
    title = f"### Claims, profile {report.profile}\n\n"
    if report.error is not None:
        return f"{title}Nothing could be compared: {_cell(report.error)}\n"
    lines = [title + headline(report)]
    faults: dict[str | None, list[Finding]] = {}
    for fault in report.faults:
        faults.setdefault(fault.claim, []).append(fault)
    rows = [_row(report, group) for group in faults.values()]
    if rows:
        head = "| Claim | Baseline | Now | Verdict | What is wrong |\n|---|---|---|---|---|"
        lines += ["", head, *rows, *(f"\n{text}" for text in report.advice)]
    if report.notes:
        lines += ["", *(f"- {_cell(finding.text)}" for finding in report.notes)]
    return "\n".join(lines) + "\n"


def headline(report: Report) -> str:
    """`244 claims agree; 0 moved`: those measured without a fault, and those with one."""
    wrong = {finding.claim for finding in report.faults}
    moved = {f.claim for f in report.faults if f.kind == "moved"}
    agree = sum(
        one.measurement is not None for one in report.claims.values() if one.claim.id not in wrong
    )
    other = len(wrong - moved)
    text = f"{agree} claim{' agrees' if agree == 1 else 's agree'}; {len(moved)} moved"
    return f"{text}; {other} with another fault." if other else f"{text}."


def _row(report: Report, faults: list[Finding]) -> str:
    """The row of a claim."""
    first = faults[0]
    text = "<br>".join(_cell(fault.text.removeprefix(f"{fault.claim}: ")) for fault in faults)
    name = f"`{first.claim}`<br>notebooks/{first.notebook}.md"
    one = report.claims.get(first.claim or "")
    if one is None:
        return f"| {name} | | | | {text} |"
    name += f"<br>{_cell(one.claim.short)}" if one.claim.short else ""
    other = any(fault.kind == "verdict" for fault in faults)
    expected = f", expected {one.claim.expected_verdict}" if other else ""
    before, now = report.stored.get(one.claim.id), one.measurement
    numbers = " | ".join(show(item, LIST_SHOWN) if item else "–" for item in (before, now))
    return f"| {name} | {numbers} | {one.verdict}{expected} | {text} |"


def _cell(text: str) -> str:
    """A text in one cell of a table: nothing in it is taken for markup."""
    marked = re.sub(r"([\\`*_{}\[\]<>|#~$@])", r"\\\1", text)
    return "<br>".join(marked.split("\n"))


def as_json(report: Report) -> str:
    """The report as data: its findings with advice, and each claim's verdict and values."""
    findings = [
        dataclasses.asdict(one) | {"fault": one.fault, "advice": report.advice_on(one)}
        for one in report.findings
    ]
    claims = {
        name: {
            "verdict": one.verdict,
            "expected": one.claim.expected_verdict,
            "measured": one.measurement and one.measurement.to_json(),
            "stored": (before := report.stored.get(name)) and before.to_json(),
        }
        for name, one in report.claims.items()
    }
    outcome = {"profile": report.profile, "error": report.error, "values": report.values}
    return json.dumps(outcome | {"findings": findings, "claims": claims}, indent=1) + "\n"


def write_reports(report: Report, summary: Path | None, data: Path | None) -> list[str]:
    """Write the summary and the data where they were asked for, and add the summary to the file
    that GitHub names; a sentence for each file that cannot be written.
    """
    host, faults = os.environ.get(SUMMARY), []
    wanted = [("--summary", summary, "w", markdown)] if summary and str(summary) != host else []
    if data:
        wanted.append(("--json", data, "w", as_json))
    if host:
        wanted.append((f"${SUMMARY}", Path(host), "a", markdown))
    for name, path, mode, written in wanted:
        try:
            if mode == "w":
                path.parent.mkdir(parents=True, exist_ok=True)
            with path.open(mode, encoding="utf-8") as target:
                target.write(written(report) + "\n" * (mode == "a"))
        except OSError as error:
            faults.append(
                f"`{name}`: {path} cannot be written: {error.strerror or error}. Free some space, "
                "or name a file in a folder that you may write to."
            )
    return faults
