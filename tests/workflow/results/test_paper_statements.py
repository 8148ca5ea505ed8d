"""The list of the papers' statements, on a toy book and on this one."""

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.results.paper_statements import Stated, placed, read_stated

FAIR = "Prose.\n\n```{prf:theorem} Fair\n:label: thm-fair\n\nAlways.\n```\n"


@pytest.fixture
def places(toy):
    """What stands beside a statement given as keywords of `Stated`, and beside those of the toy's
    claims.
    """
    toy.edit("notebooks/coin.md", "Prose with $p = 1/2$.\n", FAIR)
    claims, notebooks = load_claims(toy.project), find_notebooks(toy.project)
    judged = judged_claims(claims, [], "smoke")
    (key,) = {claim.paper for claim in claims.values()}
    names = {claim.result for claim in claims.values()}
    known = {name: {"result": name, "says": "s", "places": ["coin"]} for name in names}

    def made(**first):
        listed = [Stated(**(known.pop(first.get("result"), {}) | first))] if first else []
        listed += [Stated(**entry) for entry in known.values()]
        ((name, rows),) = placed({key: listed}, judged, notebooks, {})
        assert name == key, "of a paper that is in no bibliography"
        return rows

    return made


def test_every_claim_stands_beside_its_result(places):
    listed = places(result="Lemma 9", says="Coins are fair.", places=["thm-fair", "coin"])
    stated, here, *claims = listed[0]
    assert (stated.result, claims) == ("Lemma 9", [[], []])
    assert here == ["{prf:ref}`thm-fair`", "[A coin](chapters/coin)"]
    beside = [one.claim.id for _, _, deciding, _ in listed for one in deciding]
    assert beside == ["toy.half", "toy.powers", "toy.words"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            {"places": ["nowhere"]},
            r"Lemma 9 is said to stand at 'nowhere', which is not a notebook",
        ),
        ({"places": []}, "Lemma 9 has neither `places` nor a `note` that says why"),
        (
            {"places": ["coin"], "decided_by": ["toy.half"]},
            r"Lemma 9 is said to be decided by 'toy\.half', which is not a claim about it",
        ),
    ],
)
def test_a_statement_without_place_or_reason_stops_the_build(places, wrong, words):
    with pytest.raises(WorkflowError, match=words):
        places(result="Lemma 9", says="s", **wrong)


def test_the_deciding_claims_of_a_statement_are_named_and_are_at_most_three(toy):
    claim = next(iter(load_claims(toy.project).values()))
    four = {f"toy.{n}": claim.model_copy(update={"id": f"toy.{n}"}) for n in range(4)}
    judged, listed = judged_claims(four, [], "book"), {"result": claim.result, "says": "s"}

    def rows(**named):
        ((_, found),) = placed({claim.paper: [Stated(**listed, note="n", **named)]}, judged, {}, {})
        return [[one.claim.id for one in part] for part in found[0][2:]]

    assert rows(decided_by=["toy.2", "toy.0"]) == [["toy.2", "toy.0"], ["toy.1", "toy.3"]]
    for named in ({}, {"decided_by": [*four]}):
        with pytest.raises(WorkflowError, match="has 4 claims: name the one to 3 that decide it"):
            rows(**named)


def test_a_claim_about_nothing_that_is_listed_stops_the_build(toy):
    judged = judged_claims(load_claims(toy.project), [], "book")
    with pytest.raises(WorkflowError, match=r"toy\.half is about Theorem 1 of liu2023same"):
        placed({"liu2023same": []}, judged, {}, {})


def test_a_statement_is_listed_once():
    twice = [Stated(result="Lemma 9", says="s", note="n")] * 2
    with pytest.raises(WorkflowError, match="some lists Lemma 9 twice"):
        placed({"some": twice}, {}, {}, {})


def test_this_book_lists_its_papers_and_finds_every_place():
    project = Project.find()
    claims, notebooks = load_claims(project), find_notebooks(project)
    stated = read_stated(project)
    papers = placed(stated, judged_claims(claims, [], "book"), notebooks, {})
    rows = [row for _, rows in papers for row in rows]
    beside = [one.claim.id for _, _, *about in rows for part in about for one in part]
    assert sorted(beside) == sorted(claims)
    # a refutation of what a paper states is not left to the ledger alone
    for _, _, deciding, others in rows:
        refuted = {one.claim.kind for one in others if one.claim.expected_verdict == "refuted"} - {
            "ours"
        }
        assert not refuted or "refuted" in {one.claim.expected_verdict for one in deciding}
    assert set(stated) == {claim.paper for claim in claims.values()}
