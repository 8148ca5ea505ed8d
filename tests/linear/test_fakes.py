"""Claims of the first paper can fail: three planted falsehoods at least change each verdict."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.claims.claims import load_claims
from tests.fakes import Family, can_fail, unchanged, verdict
from tests.linear import fake_flows, fake_tables

CLAIMS = load_claims(Project.find())
FAMILIES = [*fake_flows.FAMILIES, *fake_tables.FAMILIES]
PLANTED = {claim: family for family in FAMILIES for claim in family.measures}
# Exact numbers without a family, with the reason.
ELSEWHERE = {
    "large.memory": "the memory of a process",
    "ntp.eq6.crossing-text": "the first dimension of a grid that is proved enough: one text",
    "ntp.footnote9.sparse": "an eigenvalue of a network; see tests/flatness",
}


@pytest.mark.parametrize("claim", sorted(PLANTED))
def test_planted_falsehoods_change_the_verdict(claim):
    family = PLANTED[claim]
    assert can_fail(CLAIMS[claim], family), (claim, unchanged(CLAIMS[claim], family))


@pytest.mark.parametrize("name", ["another limit", "another rate", "another constant"])
def test_a_false_flow_does_not_meet_the_constant_of_the_angle(name):
    claim, flow = CLAIMS["ntp.thm2.alignment-constant"], fake_flows.FLOW
    assert verdict(claim, flow.measures[claim.id](flow.fakes[name])) == "refuted"


def test_a_constant_that_is_read_where_it_is_measured_would_be_rejected():
    """As it was until November 2026: 1 − cos over its prediction from the offset at that time."""

    def read_at_the_end(path):
        (W,) = path([1e6])[0]
        offset = W - 1e6 * fake_flows.SVM
        across = offset - np.vdot(offset, fake_flows.SVM) / fake_flows.SIZE**2 * fake_flows.SVM
        predicted = np.sum(across**2) / (2 * fake_flows.SIZE**2 * 1e12)
        return fake_flows.distances(path, [1e6])[0] / predicted

    claim, flow = CLAIMS["ntp.thm2.alignment-constant"], fake_flows.FLOW
    near = partial(fake_flows.moved, lambda t: 0.01 * t * fake_flows.ACROSS)
    fakes = {"a limit beside it": partial(fake_flows.follow, near)}
    fakes |= {
        name: flow.fakes[name] for name in ("an offset without a limit", "another finite part")
    }
    circular = Family(flow.truth, fakes, {claim.id: read_at_the_end})
    assert unchanged(claim, circular) == list(fakes)
    assert not can_fail(claim, circular)
    assert can_fail(claim, Family(flow.truth, fakes, flow.measures))


def test_every_exact_claim_of_the_first_paper_has_its_falsehoods():
    """What has a standard error is an estimate: its interval can lie on the other side."""
    stored = Path(__file__).resolve().parents[1] / "baselines" / "book.json"
    values = {}
    for group in json.loads(stored.read_text(encoding="utf-8")).values():
        values |= group
    exact = {
        claim.id
        for claim in CLAIMS.values()
        if claim.paper == "thrampoulidis2024implicit" and "stderr" not in values.get(claim.id, {})
    }
    assert exact - set(PLANTED) == set(ELSEWHERE)
    assert set(PLANTED) <= set(CLAIMS)
