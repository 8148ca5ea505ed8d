"""The stored runs of a profile compared with its baseline: what was found, and what to do."""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.texts import read_text
from ntpcompanion.workflow.checking import baselines
from ntpcompanion.workflow.checking.baselines import Baselines, input_key
from ntpcompanion.workflow.checking.value_comparison import Finding, Kind, compare
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import JudgedClaim, judged_claims
from ntpcompanion.workflow.running.results import Result

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
        """What to do about a finding; empty where its text says it."""
        return ADVICE.get(finding.kind, "").format(profile=self.profile)


def check_results(project: Project, results: Mapping[str, Result], profile: str) -> Report:
    """Compare stored results with the baseline of the profile. Raises WorkflowError if claims or
    baseline cannot be read.
    """
    stored = baselines.read_baseline(project.baseline(profile))
    measured = [item for result in results.values() for item in result.measurements]
    judged = judged_claims(load_claims(project), measured, profile)
    return make_report(project, results, judged, stored, profile)


def accept(project: Project, results: Mapping[str, Result], profile: str) -> Path:
    """Make the values of stored results the baseline of the profile; return its file. Raises
    WorkflowError if claims or baseline cannot be read, or the baseline not be written.
    """
    path = project.baseline(profile)
    stored = baselines.read_baseline(path)
    baselines.write_baseline(path, baselines.updated(stored, results, load_claims(project)))
    return path


def make_report(
    project: Project,
    results: Mapping[str, Result],
    judged: Mapping[str, JudgedClaim],
    stored: Baselines,
    profile: str,
) -> Report:
    """The report of a comparison of runs with stored values."""

    @functools.cache
    def lines(file: Path) -> list[str]:
        try:
            return read_text(file).split("\n")
        except WorkflowError:
            return []

    def placed(finding: Finding) -> Finding:
        file = project.notebooks / f"{finding.notebook}.md"
        line = line_of(lines(file), finding.claim) if finding.claim else 1
        return replace(finding, file=file.relative_to(project.root).as_posix(), line=line)

    before = [stored.get(input_key(result), {}) for result in results.values()]
    return Report(
        profile=profile,
        values=sum(len(result.measurements) for result in results.values()),
        findings=list(map(placed, compare(results, judged, stored, profile))),
        claims={
            name: one
            for name, one in judged.items()
            if one.claim.measured_at(profile) or one.measurement
        },
        stored={claim: item for items in before for claim, item in items.items()},
    )


def line_of(lines: Sequence[str], claim: str) -> int:
    """The line of a text notebook that names a claim, counted from 1: that of `measure` before any
    other, such as one of a table over which a cell loops. 1 where there is none.
    """
    named = [
        n for n, line in enumerate(lines, 1) if re.search(f"[\"']{re.escape(claim)}[\"']", line)
    ]
    return min(named, key=lambda n: "measure(" not in lines[n - 1], default=1)
