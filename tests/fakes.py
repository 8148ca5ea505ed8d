"""Claims that cannot fail. A claim is measured on what is true and on planted falsehoods; if too
few of these change its verdict, the claim decides nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ntpcompanion.workflow.claims.claims import Claim
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import judge

PLANTED = 3  # falsehoods that must change the verdict


@dataclass(frozen=True)
class Family:
    """Claims about one kind of object.

    `truth` is an object on which the claims have their expected verdicts, `fakes` are false ones by
    name, and `measures` has for each claim the number that its notebook measures on an object.
    """

    truth: Any
    fakes: Mapping[str, Any]
    measures: Mapping[str, Callable[[Any], object]]


def verdict(claim: Claim, value: object) -> str:
    """The verdict on an exact number at profile book."""
    return judge(claim, "book", Measurement.of(claim.id, value)).verdict


def unchanged(claim: Claim, family: Family) -> list[str]:
    """The falsehoods under which the claim has its expected verdict as under the truth.

    Raises AssertionError if it does not have it under the truth.
    """
    measure = family.measures[claim.id]
    value = measure(family.truth)
    assert verdict(claim, value) == claim.expected_verdict, (claim.id, value)
    return [
        name
        for name, fake in family.fakes.items()
        if verdict(claim, measure(fake)) == claim.expected_verdict
    ]


def can_fail(claim: Claim, family: Family) -> bool:
    """Whether at least three of the planted falsehoods change the verdict."""
    return len(family.fakes) - len(unchanged(claim, family)) >= PLANTED
