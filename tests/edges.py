"""How far a measured number lies from where the verdict on it would change."""

from math import inf

from ntpcompanion.workflow.claims.claims import Claim
from ntpcompanion.workflow.claims.expectation import Slack
from ntpcompanion.workflow.claims.measurement import Measurement


def distance_from_edge(claim: Claim, profile: str, measurement: Measurement) -> float:
    """How many standard errors the value could move before its side of the expectation changed;
    infinite if it is exact.
    """
    expectation = claim.expectation_at(profile)
    if measurement.exact or expectation is None:
        return inf
    # with its standard errors in place of the half widths of its interval
    return abs(min(map(_errors_to_edge, expectation.slack(measurement.values, measurement.errors))))


def _errors_to_edge(slack: Slack) -> float:
    """The distance from the edge of one inequality in standard errors, negative where it fails."""
    if not slack.half_width:
        return inf if slack.value >= 0 else -inf
    return slack.value / slack.half_width
