"""What to do about the findings of a check, in sentences."""

from ntpcompanion.workflow.checking.value_comparison import Kind

_ADVICE: dict[Kind, str] = {
    "moved": "If the new number is right, accept it: `ntpcompanion check --profile {profile} "
    "--update`, and commit `tests/baselines/{profile}.json`. If not, fix the change that moved "
    "it.",
    "new": "If the number is right, store it: `ntpcompanion check --profile {profile} --update`, "
    "and commit `tests/baselines/{profile}.json`.",
    "verdict": "A verdict is computed from the number and from `expect`. If both are right, the "
    "verdict is a result: write it as `expected_verdict` of the claim in `book/claims.yml`.",
    "missing": "Measure the claim in its notebook, or take it out of `book/claims.yml`.",
}


def what_to_do(kind: Kind, profile: str) -> str:
    """What to do about a finding of this kind; nothing about a note, and where the finding says
    it.
    """
    return _ADVICE.get(kind, "").format(profile=profile)
