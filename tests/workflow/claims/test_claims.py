from collections import Counter

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.claims.claims import Claim, judge, load_claims
from ntpcompanion.workflow.claims.measurement import Measurement
from tests.edges import distance_from_edge
from tests.toy import CLAIM, write_claims

MANY = 10**6  # replicates: Student's interval is then 1.96 standard errors to either side
T = stats.t.ppf(0.975, MANY - 1)
SEEDS, SD, DELTA = 8, 0.4, 1.0  # paired differences of accuracies, in points


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


def test_few_replicates_have_a_wide_interval():
    """Student's t at 95 %: 4.30 standard errors for three replicates, 2.78 for five."""
    assert verdict({"at_least": 0.0}, 4.2, 1.0, replicates=3) == "inconclusive"
    assert verdict({"at_least": 0.0}, 4.4, 1.0, replicates=3) == "supported"
    assert verdict({"at_least": 0.0}, -2.7, 1.0, replicates=5) == "inconclusive"
    assert verdict({"at_least": 0.0}, -2.8, 1.0, replicates=5) == "refuted"


def verdicts_of_studies(effect, rng, studies=2000):
    """How often each verdict falls on an expected effect of DELTA, with SEEDS paired differences
    of standard deviation SD around a true effect.
    """
    claim = claim_that({"effect": DELTA})
    draws = rng.normal(effect, SD, (studies, SEEDS))
    pairs = zip(draws.mean(1), stats.sem(draws, axis=1), strict=True)
    return Counter(judge(claim, "book", measured(*pair, SEEDS)).verdict for pair in pairs)


def test_studies_find_the_effects_that_are_there(rng):
    """The probabilities are Student's; within four standard errors of a share of 2000 studies."""
    twice = verdicts_of_studies(2 * DELTA, rng)
    assert twice["supported"] >= 0.8 * 2000
    none = verdicts_of_studies(0.0, rng)
    assert none["supported"] <= 0.05 * 2000
    assert none["refuted"] >= 0.8 * 2000
    just = verdicts_of_studies(DELTA, rng)
    assert just["refuted"] / 2000 == pytest.approx(0.025, abs=0.014)


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


def test_an_effect_without_an_error_is_a_point():
    """It is never inconclusive, and supported only from the smallest effect of interest on."""
    values = [-1.0, 0.0, 0.5, 1.0, 1.5]
    found = [verdict({"effect": 1.0}, value) for value in values]
    assert found == ["refuted"] * 3 + ["supported"] * 2


def test_what_has_no_expectation_is_shown_and_not_judged(toy):
    assert verdict({"at_least": 1.0}, 5.0, profile="smoke") == "exploratory"
    alone = claim_that(None, exploratory="one training seed")
    assert judge(alone, "book", measured(5.0)).verdict == "exploratory"
    assert alone.measured_at("smoke")
    assert not claim_that({"at_least": 1.0}).measured_at("smoke")
    assert judge(load_claims(toy.project)["toy.half"], "book", None).verdict == "not measured"


def test_the_kind_of_value_must_fit():
    with pytest.raises(
        WorkflowError,
        match=r"'toy.x' expects ≥ 1, which is about one number, but 2 numbers were measured",
    ):
        verdict({"at_least": 1.0}, [1.0, 2.0])
    with pytest.raises(WorkflowError, match=r"needs at least two measured numbers, got 1.0"):
        verdict({"increasing": "weakly"}, 1.0)


@pytest.mark.parametrize(
    ("expectation", "value", "stderr", "distance"),
    [
        ({"at_least": 1.0}, 1.5, 0.1, 5.0),
        ({"at_least": 1.0}, 0.5, 0.1, 5.0),
        ({"equals": 1.0, "within": 0.5}, 1.2, 0.1, 3.0),
        ({"interval": [0.0, 1.0]}, 0.9, 0.05, 2.0),
        ({"interval": [0.0, 1.0]}, 1.1, 0.05, 2.0),
        ({"sign": "negative"}, -3.0, 1.0, 3.0),
        ({"increasing": "strictly"}, [0.0, 1.0, 3.0], [0.3, 0.4, 0.0], 2.0),
        ({"effect": 1.0}, 0.5, 0.1, 5.0),
        ({"effect": -1.0}, -0.5, 0.1, 5.0),
        ({"effect": 1.0}, 3.0, 0.5, 4.0),
        ({"effect": 1.0}, 0.95, 0.25, 0.2),
        ({"at_least": 1.0}, 1.0, 0.0, float("inf")),
    ],
)
def test_the_distance_from_the_edge_is_in_standard_errors(expectation, value, stderr, distance):
    assert distance_from_edge(
        claim_that(expectation), "book", measured(value, stderr)
    ) == pytest.approx(distance)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": None}, r"toy.half: source: Field required"),
        ({"source": " "}, r"toy.half: source: String should have at least 3 characters"),
        ({"short": "x" * 111}, r"toy.half: short: String should have at most 110 characters"),
        ({"quantity": "x" * 46}, r"toy.half: quantity: String should have at most 45 characters"),
        ({"notebook": "dice"}, r"toy.half: notebook: there is no notebooks/dice.md"),
        ({"id": "toy.words"}, r"toy.words: the id is used twice"),
        ({"id": "Toy half"}, r"String should match pattern"),
        ({"expect": {}}, r"toy.half: : Value error, needs either `expect`.* or `exploratory`"),
        (
            {"exploratory": "one seed"},
            r"needs either `expect`, by which it is judged, or `exploratory`",
        ),
        ({"kind": None}, r"toy.half: kind: Field required"),
        (
            {"kind": "fact"},
            r"toy.half: kind: Input should be 'stated', 'reading', 'slip' or 'ours'",
        ),
        ({"basis": "memory"}, r"toy.half: basis: Input should be 'text'"),
        ({"scope": "larger"}, r"toy.half: scope: Input should be 'same', 'smaller' or 'text'"),
        ({"expect": {"bock": {"at_least": 1}}}, r"toy.half: expect.bock"),
        ({"band": {"relative": 2.0}}, r"toy.half: band.relative"),
        ({"verdict": "supported"}, r"toy.half: verdict: Extra inputs are not permitted"),
    ],
)
def test_faults_of_the_claims_file(toy, changes, words):
    write_claims(toy.project, **changes)
    with pytest.raises(WorkflowError, match=words):
        load_claims(toy.project)


@pytest.mark.parametrize(
    ("text", "words"),
    [("a: 1", r"must be a list of items"), ("- [", r"cannot be read"), ("- 5", r"item 1")],
)
def test_a_claims_file_that_is_none(toy, text, words):
    toy.project.claims.write_text(text)
    with pytest.raises(WorkflowError, match=words):
        load_claims(toy.project)


def test_claims_of_a_larger_book_have_a_file_for_each_chapter(toy):
    expected = load_claims(toy.project)
    items = yaml.safe_load(toy.project.claims.read_text())
    folder = toy.project.claims.with_suffix("")
    folder.mkdir()
    for item in items:
        with (folder / f"{item['notebook']}.yml").open("a") as file:
            file.write(yaml.safe_dump([item]))
    with pytest.raises(WorkflowError, match=r"claims.coin\.yml:\n  toy.half: .* used twice"):
        load_claims(toy.project)
    toy.project.claims.unlink()
    assert load_claims(toy.project) == expected


def test_nothing_that_judges_a_claim_can_change_it(toy):
    claim = load_claims(toy.project)["toy.half"]
    with pytest.raises(ValidationError, match="Instance is frozen"):
        claim.expected_verdict = "refuted"
