"""The stored runs of a profile compared with its baseline: what was found, and what to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking import baselines
from ntpcompanion.workflow.checking.baselines import Baselines, input_key
from ntpcompanion.workflow.checking.value_comparison import Finding, Kind, compare
from ntpcompanion.workflow.claims.claims import Claim, load_claims
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
    return make_report(load_claims(project), results, stored, profile)


def accept(project: Project, results: Mapping[str, Result], profile: str) -> Path:
    """Make the values of stored results the baseline of the profile; return its file. Raises
    WorkflowError if claims or baseline cannot be read, or the baseline not be written.
    """
    path = project.baseline(profile)
    stored = baselines.read_baseline(path)
    baselines.write_baseline(path, baselines.updated(stored, results, load_claims(project)))
    return path


def make_report(
    claims: Mapping[str, Claim], results: Mapping[str, Result], stored: Baselines, profile: str
) -> Report:
    """The report of a comparison of runs with stored values."""
    items = [item for result in results.values() for item in result.measurements]
    judged = judged_claims(claims, items, profile)
    before = [stored.get(input_key(result), {}) for result in results.values()]
    return Report(
        profile=profile,
        values=len(items),
        findings=compare(results, judged, stored, profile),
        claims={
            name: one
            for name, one in judged.items()
            if one.claim.measured_at(profile) or one.measurement
        },
        stored={claim: item for items in before for claim, item in items.items()},
    )
