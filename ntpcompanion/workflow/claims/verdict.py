"""Judged claims: each with its number, its verdict, and the words by which pages show them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.claims.claims import Claim
from ntpcompanion.workflow.claims.expectation import Expectation, Slack
from ntpcompanion.workflow.claims.formatting import powers, show
from ntpcompanion.workflow.claims.measurement import Measurement

CONFIDENCE = 0.95


def half_widths(item: Measurement) -> tuple[float, ...]:
    """Half the length of the 95 % interval around each value; 0 where it is exact.

    Student's t with `replicates` − 1 degrees of freedom: the interval covers the mean of normal
    replicates with exactly that probability, however few they are.
    """
    if item.exact:
        return item.errors
    factor = standard_errors(item.degrees_of_freedom)
    return tuple(factor * error for error in item.errors)


def standard_errors(degrees_of_freedom: float) -> float:
    """Half the length of a 95 % interval, in standard errors: a quantile of Student's t."""
    from scipy.special import stdtrit  # here: no command waits for it that judges nothing

    return float(stdtrit(degrees_of_freedom, (1 + CONFIDENCE) / 2))


Verdict = Literal["supported", "refuted", "inconclusive", "exploratory", "not measured"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
# What is added to a verdict that says nothing about the paper's own setting.
REACHES = {"smaller": "at our scale", "text": "on the default text"}


@dataclass(frozen=True)
class JudgedClaim:
    """A claim at a profile, the number that was measured for it, None where there is none, and the
    verdict with the expectation that it was computed from, None where the profile has none.
    """

    claim: Claim
    profile: str
    measurement: Measurement | None
    verdict: Verdict
    expectation: Expectation | None

    @property
    def number(self) -> str:
        """The value, with enough digits to tell it from what is expected; `–` where there is none.

        Every page shows it like that, and a build looks for it there.
        """
        others = self.expectation.bounds if self.expectation else ()
        return powers(show(self.measurement, distinguish_from=others)) if self.measurement else "–"

    @property
    def reach(self) -> str:
        """The verdict, and how far it reaches: `refuted at our scale`."""
        reach = REACHES.get(self.claim.scope, "") if self.verdict in VERDICTS[:3] else ""
        return f"{self.verdict} {reach}".rstrip()

    @property
    def counted_as(self) -> str:
        """The verdict in a count: a refutation is not told without whose claim it is."""
        return f"{self.verdict} ({self.claim.kind})" if self.verdict == "refuted" else self.verdict

    @property
    def anchor(self) -> str:
        """The id of the card's element: another one for each claim, as no id has an underscore."""
        return "claim-" + self.claim.id.replace(".", "_")

    @property
    def row_anchor(self) -> str:
        return self.anchor.replace("claim-", "row-", 1)

    @property
    def url(self) -> str:
        """Where the site shows a claim: its card, or its chapter where nothing was measured."""
        return f"chapters/{self.claim.notebook}.html" + (
            f"#{self.anchor}" if self.measurement else ""
        )


def judged_claims(
    claims: Mapping[str, Claim], measurements: Iterable[Measurement], profile: str
) -> dict[str, JudgedClaim]:
    """All claims by id, each with the verdict on what was measured for it."""
    measured = {item.claim: item for item in measurements}
    return {name: judge(claim, profile, measured.get(name)) for name, claim in claims.items()}


def judge(claim: Claim, profile: str, item: Measurement | None) -> JudgedClaim:
    """The verdict on a claim at a profile, from the measured value and its 95 % interval.

    Supported: the whole interval meets the expectation; refuted: no part of it does, for an order
    no part of that of one step; inconclusive: some part. What has no expectation at the profile is
    shown without being judged: exploratory.
    """
    expectation = claim.expectation_at(profile)
    verdict: Verdict = "inconclusive"
    if item is None:
        verdict = "not measured"
    elif expectation is None:
        verdict = "exploratory"
    else:
        slacks = _slacks(claim, expectation, item)
        if all(slack.supports for slack in slacks):
            verdict = "supported"
        elif any(slack.refutes for slack in slacks):
            verdict = "refuted"
    return JudgedClaim(claim, profile, item, verdict, expectation)


def _slacks(claim: Claim, expectation: Expectation, measurement: Measurement) -> list[Slack]:
    try:
        return expectation.slack(measurement.values, half_widths(measurement))
    except ValueError as error:
        raise WorkflowError(f"Claim {claim.id!r} expects {error}.") from error


def tally(words: Iterable[str]) -> str:
    """`3 supported, 1 refuted (slip)`: how often each verdict is counted, in their order."""
    counts, order = Counter(words), [str(verdict) for verdict in VERDICTS]
    ordered = sorted(counts, key=lambda words: order.index(words.partition(" (")[0]))
    return ", ".join(f"{counts[words]} {words}" for words in ordered)
