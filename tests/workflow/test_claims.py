import pytest
from pydantic import ValidationError

from ntpcompanion.workflow.claims import Claim, Expectation, judge, load_claims
from ntpcompanion.workflow.errors import WorkflowError
from tests.toy import CLAIM, write_claims


def verdict(expectation, value, stderr=0.0, profile="book"):
    claim = Claim.model_validate({"id": "toy.x", **CLAIM, "notebook": "coin", "expect": {"book": expectation}})
    return judge(claim, profile, {"value": value, "stderr": stderr}).verdict


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
        ({"increasing": "weakly"}, ([1, 1, 2], 0.0), ([1, 3, 2], 0.0), ([1.0, 2.0, 1.8], 0.1)),
        ({"increasing": "strictly"}, ([1, 2, 3], [0.1, 0.1, 0.1]), ([1, 1], 0.0), ([1.0, 1.1], 0.1)),
        ({"decreasing": "weakly"}, ([2, 1, 1], 0.0), ([1, 2], 0.3), ([2.0, 1.8], 0.1)),
    ],
)
def test_verdict_is_decided_by_two_standard_errors(expectation, yes, no, unsure):
    assert verdict(expectation, *yes) == "supported"
    assert verdict(expectation, *no) == "refuted"
    assert verdict(expectation, *unsure) == "inconclusive"


def test_without_value_or_expectation_nothing_is_measured(toy):
    assert verdict({"at_least": 1.0}, 5.0, profile="smoke") == "not measured"
    assert judge(load_claims(toy.project)["toy.half"], "book", None).verdict == "not measured"


def test_the_kind_of_value_must_fit():
    with pytest.raises(WorkflowError, match=r"'toy.x' expects ≥ 1, which is about one number, but 2 numbers were measured"):
        verdict({"at_least": 1.0}, [1.0, 2.0])
    with pytest.raises(WorkflowError, match=r"needs at least two measured numbers, got 1.0"):
        verdict({"increasing": "weakly"}, 1.0)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, r"exactly one predicate, got none"),
        ({"at_least": 1, "at_most": 2}, r"exactly one predicate, got \['at_least', 'at_most'\]"),
        ({"equals": 1}, r"`within` goes with"),
        ({"at_least": 1, "within": 1}, r"`within` goes with"),
        ({"at_most": float("inf")}, r"a predicate that cannot fail decides nothing"),
        ({"equals": 1, "within": float("inf")}, r"a predicate that cannot fail"),
        ({"interval": [1, 1]}, r"is empty or a point"),
        ({"atleast": 1}, r"Extra inputs are not permitted"),
    ],
)
def test_predicates_that_say_nothing_are_refused(data, words):
    with pytest.raises(ValidationError, match=words):
        Expectation.model_validate(data)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": None}, r"toy.half: source: Field required"),
        ({"source": " "}, r"toy.half: source: String should have at least 3 characters"),
        ({"notebook": "dice"}, r"toy.half: notebook: there is no notebooks/dice.md"),
        ({"id": "toy.words"}, r"toy.words: the id is used twice"),
        ({"id": "Toy half"}, r"String should match pattern"),
        ({"expect": {}}, r"toy.half: expect: Dictionary should have at least 1 item"),
        ({"expect": {"bock": {"at_least": 1}}}, r"toy.half: expect.bock"),
        ({"band": {"relative": 2.0}}, r"toy.half: band.relative"),
        ({"verdict": "supported"}, r"toy.half: verdict: Extra inputs are not permitted"),
    ],
)
def test_faults_of_the_claims_file(toy, changes, words):
    write_claims(toy.project, **changes)
    with pytest.raises(WorkflowError, match=words):
        load_claims(toy.project)


@pytest.mark.parametrize(("text", "words"), [("a: 1", r"must be a list of items"), ("- [", r"cannot be read"), ("- 5", r"item 1")])
def test_a_claims_file_that_is_none(toy, text, words):
    toy.project.claims.write_text(text)
    with pytest.raises(WorkflowError, match=words):
        load_claims(toy.project)


def test_descriptions_are_short():
    shown = [
        {"equals": 1.445, "within": 0.05},
        {"equals": 1, "within": 0},
        {"at_least": 0.5},
        {"at_most": 1e-12},
        {"interval": [0, 1]},
        {"sign": "negative"},
        {"increasing": "weakly"},
        {"decreasing": "strictly"},
    ]
    assert [Expectation.model_validate(e).describe() for e in shown] == [
        "= 1.445 ± 0.05",
        "= 1",
        "≥ 0.5",
        "≤ 1e-12",
        "in [0, 1]",
        "< 0",
        "non-decreasing",
        "decreasing",
    ]


def test_nothing_that_judges_a_claim_can_change_it(toy):
    claim = load_claims(toy.project)["toy.half"]
    with pytest.raises(ValidationError, match="Instance is frozen"):
        claim.expected_verdict = "refuted"
