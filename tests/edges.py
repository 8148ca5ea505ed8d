"""How far a measured number lies from where the verdict on it would change."""

from math import inf

from ntpcompanion.workflow.claims.claims import Claim
from ntpcompanion.workflow.claims.intervals import half_widths
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.predicate import Slack


def distance_from_edge(claim: Claim, profile: str, measurement: Measurement) -> float:
    """How many standard errors the value could move before its side of the expectation changed;
    infinite if it is exact.
    """
    expectation = claim.expectation_at(profile)
    if measurement.exact or expectation is None:
        return inf
    # with its standard errors in place of the half widths of its interval
    slacks = expectation.slack(measurement.values, measurement.errors)
    intervals = expectation.slack(measurement.values, half_widths(measurement))
    return abs(min(map(_errors_to_edge, slacks, intervals)))


def _errors_to_edge(slack: Slack, interval: Slack) -> float:
    """The distance from the edge of one inequality in standard errors, negative where it fails.

    An inequality that need hold at one point only fails where the far end of the interval fails it.
    """
    spare = 0 if interval.whole or interval.refutes else interval.half_width
    if not slack.half_width:
        return inf if slack.value >= 0 else -inf
    return (slack.value + spare) / slack.half_width
