"""Verdicts by the interval of a number, and the words by which pages show them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ntpcompanion.workflow.claims.claims import Claim, load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import judge, tally
from tests.refusing import refused
from tests.toy import CLAIM

MANY = 10**6  # replicates: Student's interval is then 1.96 standard errors to either side


def claim_that(expectation, **fields):
    expect = {"expect": {"book": expectation}} if expectation else {}
    return Claim.model_validate({"id": "toy.x", **CLAIM, "notebook": "coin", **expect, **fields})


def measured(value, stderr=0.0, replicates=MANY):
    return Measurement.of("toy.x", value, stderr=stderr, replicates=replicates)


def verdict(expectation, value, stderr=0.0, profile="book", replicates=MANY):
    return judge(claim_that(expectation), profile, measured(value, stderr, replicates)).verdict


@pytest.mark.parametrize(
    ("expectation", "yes", "no", "unsure"),
    [
        ({"equals": 1.0, "within": 0.5}, (1.2, 0.1), (1.9, 0.1), (1.4, 0.1)),
        ({"order": 1.0, "within": 0.3}, (1.25, 0.0), (1.35, 0.0), (1.3, 0.01)),
        ({"at_least": 2.0}, (2.0, 0.0), (1.9999, 0.0), (2.1, 0.06)),
        ({"at_most": 2.0}, (1.0, 0.4), (3.0, 0.4), (2.5, 0.3)),
        ({"interval": [0.0, 1.0]}, (0.5, 0.2), (-0.1, 0.04), (0.9, 0.1)),
        ({"interval": [1.0, 2.0]}, (1.5, 0.2), (0.9, 0.04), (1.1, 0.1)),
        ({"sign": "positive"}, (1e-300, 0.0), (0.0, 0.0), (0.1, 0.06)),
        ({"sign": "negative"}, (-1.0, 0.4), (1.0, 0.4), (-1.0, 0.6)),
        ({"effect": 1.0}, (1.6, 0.25), (-0.1, 0.5), (0.4, 0.4)),
        ({"effect": 1.0}, (1.0, 0.0), (0.999, 0.0), (0.6, 0.25)),
        ({"effect": 1.0}, (3.0, 0.5), (0.5, 0.2), (3.0, 1.6)),
        ({"effect": -1.0}, (-1.6, 0.25), (0.1, 0.5), (-0.6, 0.25)),
        ({"increasing": "weakly"}, ([1, 1, 2], 0.0), ([1, 3, 2], 0.0), ([1.0, 2.0, 1.8], 0.1)),
        (
            {"increasing": "strictly"},
            ([1, 2, 3], [0.1, 0.1, 0.1]),
            ([1, 1], 0.0),
            ([1.0, 1.1], 0.1),
        ),
        ({"decreasing": "weakly"}, ([2, 1, 1], 0.0), ([1, 2], 0.3), ([2.0, 1.8], 0.1)),
    ],
)
def test_the_interval_decides_the_verdict(expectation, yes, no, unsure):
    assert verdict(expectation, *yes) == "supported"
    assert verdict(expectation, *no) == "refuted"
    assert verdict(expectation, *unsure) == "inconclusive"


finite = st.floats(-1e6, 1e6)


@given(finite, st.floats(0, 1e6), st.integers(2, 50), finite.filter(bool))
def test_exactly_one_verdict_falls_on_an_effect(value, stderr, replicates, delta):
    if stderr < 1e-9:
        stderr = 0.0
    sign = np.sign(delta)
    half = stats.t.ppf(0.975, replicates - 1) * stderr
    low, far = sign * value - half, sign * value + half
    holds = {
        "supported": low >= abs(delta),
        "refuted": far < abs(delta),
        "inconclusive": low < abs(delta) <= far,
    }
    assert sum(holds.values()) == 1
    found = verdict({"effect": delta}, value, stderr, replicates=replicates)
    assert found == verdict({"effect": -delta}, -value, stderr, replicates=replicates)
    edges = np.array([low, far]) - abs(delta)
    if (np.abs(edges) > 1e-9 * (abs(value) + half + abs(delta))).all():  # rounding decides nothing
        assert holds[found]


def test_what_has_no_expectation_is_shown_and_not_judged(toy):
    assert verdict({"at_least": 1.0}, 5.0, profile="smoke") == "exploratory"
    alone = claim_that(None, exploratory="one training seed")
    assert judge(alone, "book", measured(5.0)).verdict == "exploratory"
    assert alone.measured_at("smoke")
    assert not claim_that({"at_least": 1.0}).measured_at("smoke")
    assert judge(load_claims(toy.project)["toy.half"], "book", None).verdict == "not measured"


def test_the_kind_of_value_must_fit():
    with refused(r"'toy.x' expects ≥ 1, which is about one number, but 2 numbers were measured"):
        verdict({"at_least": 1.0}, [1.0, 2.0])
    with refused(r"needs at least two measured numbers, got 1.0"):
        verdict({"increasing": "weakly"}, 1.0)


def judged(verdict="supported", **fields):
    """A claim with that verdict."""
    values = {"supported": 0.0, "refuted": 9.0, "inconclusive": 2.0, "not measured": None}
    claim = claim_that({"at_most": 2}, **fields)
    value = values[verdict]
    item = None if value is None else measured(value, 0.1)
    return judge(claim, "book", item)


def test_a_verdict_says_how_far_it_reaches():
    assert judged("refuted").reach == "refuted"
    assert judged("refuted", scope="smaller").reach == "refuted at our scale"
    assert judged("supported", scope="text").reach == "supported on the default text"
    assert judged("not measured", scope="text").reach == "not measured", "at no scale"


def test_a_refutation_is_counted_with_whose_claim_it_is():
    told = [
        judged(each).counted_as
        for each in ("not measured", "inconclusive", "supported", "supported")
    ]
    told += [judged("refuted", kind="slip").counted_as, judged("refuted").counted_as]
    assert tally(told) == (
        "2 supported, 1 refuted (slip), 1 refuted (stated), 1 inconclusive, 1 not measured"
    )


def test_claims_never_share_an_anchor():
    one, other = (
        judge(claim_that({"at_most": 2}, id=name), "book", None) for name in ("toy.a.b", "toy.a-b")
    )
    assert (one.anchor, one.row_anchor) == ("claim-toy_a_b", "row-toy_a_b")
    assert one.anchor != other.anchor


@pytest.mark.parametrize(
    ("bound", "value", "shown"),
    [(2.0, 2.0000001, "2.0000001"), (1.234, 1.23401, "1.23401"), (1.0, -1.2e-5, "−1.2 × 10⁻⁵")],
)
def test_a_number_is_told_apart_from_the_bound_that_it_misses(bound, value, shown):
    assert judge(claim_that({"at_most": bound}), "book", measured(value)).number == shown
    assert judged("not measured").number == "–"
