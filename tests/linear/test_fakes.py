"""Claims of the first paper can fail: three planted falsehoods at least change each verdict."""

import json
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.claims.claims import load_claims
from tests.fakes import Family, can_fail, unchanged, verdict

CLAIMS = load_claims(Project.find())
PAPER = "thrampoulidis2024implicit"
STORED = Path(__file__).resolve().parents[1] / "baselines" / "book.json"
# Exact numbers without a family, with the reason.
ELSEWHERE = {
    "ntp.any.direction": "a flow against other code; see separability/test_implied_table.py",
    "ntp.any.floor": "BFGS against forged proofs; see separability/test_implied_table.py",
    "ntp.eq6.crossing-text": "the first dimension of a grid that is proved enough: one text",
    "ntp.footnote9.sparse": "an eigenvalue of a network; see tests/flatness",
}


def exact_claims():
    """What has a standard error is an estimate: its interval can lie on the other side."""
    values = {}
    for group in json.loads(STORED.read_text(encoding="utf-8")).values():
        values |= group
    return {
        claim.id
        for claim in CLAIMS.values()
        if claim.paper == PAPER and "stderr" not in values.get(claim.id, {})
    }


@cache
def planted():
    """The family of each claim. Its module solves and integrates: not while tests are collected."""
    from tests.linear import fake_flows, fake_tables

    families = [*fake_flows.FAMILIES, *fake_tables.FAMILIES]
    return {claim: family for family in families for claim in family.measures}


@pytest.fixture(scope="module")
def flows():
    from tests.linear import fake_flows

    return fake_flows


@pytest.mark.parametrize("claim", sorted(exact_claims() - set(ELSEWHERE)))
def test_planted_falsehoods_change_the_verdict(claim):
    family = planted()[claim]
    assert can_fail(CLAIMS[claim], family), (claim, unchanged(CLAIMS[claim], family))


def test_every_family_is_of_an_exact_claim_or_changes_its_verdict_too():
    assert set(planted()) <= set(CLAIMS)
    others = set(planted()) - exact_claims()
    assert [claim for claim in others if not can_fail(CLAIMS[claim], planted()[claim])] == []
    assert set(ELSEWHERE) <= exact_claims() - set(planted())


@pytest.mark.parametrize("name", ["another limit", "another rate", "another constant"])
def test_a_false_flow_does_not_meet_the_constant_of_the_angle(name, flows):
    claim, flow = CLAIMS["ntp.thm2.alignment-constant"], flows.FLOW
    assert verdict(claim, flow.measures[claim.id](flow.fakes[name])) == "refuted"


def test_a_constant_that_is_read_where_it_is_measured_would_be_rejected(flows):
    """As it was until November 2026: 1 − cos over its prediction from the offset at that time."""

    def read_at_the_end(path):
        (W,) = path([1e6])[0]
        offset = W - 1e6 * flows.SVM
        across = offset - np.vdot(offset, flows.SVM) / flows.SIZE**2 * flows.SVM
        predicted = np.sum(across**2) / (2 * flows.SIZE**2 * 1e12)
        return flows.distances(path, [1e6])[0] / predicted

    claim, flow = CLAIMS["ntp.thm2.alignment-constant"], flows.FLOW
    near = partial(flows.moved, lambda t: 0.01 * t * flows.ACROSS)
    fakes = {"a limit beside it": partial(flows.follow, near)}
    fakes |= {
        name: flow.fakes[name] for name in ("an offset without a limit", "another finite part")
    }
    circular = Family(flow.truth, fakes, {claim.id: read_at_the_end})
    assert unchanged(claim, circular) == list(fakes)
    assert not can_fail(claim, circular)
    assert can_fail(claim, Family(flow.truth, fakes, flow.measures))
