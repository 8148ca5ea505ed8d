"""The list of the papers' statements, on a toy book and on this one."""

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.results.paper_statements import Stated, places_page, read_stated
from ntpcompanion.workflow.results.references import read_papers
from ntpcompanion.workflow.results.rows import ledger_rows, paper_result

FAIR = "Prose.\n\n```{prf:theorem} Fair\n:label: thm-fair\n\nAlways.\n```\n"


@pytest.fixture
def page(toy):
    """A page of the toy's claims, for statements given as keywords of `Stated`."""
    toy.edit("notebooks/coin.md", "Prose with $p = 1/2$.\n", FAIR)
    claims, notebooks = load_claims(toy.project), find_notebooks(toy.project)
    rows = ledger_rows(claims, {}, "smoke")
    (key,) = {row.paper for row in rows}
    known = {row.result: {"result": row.result, "says": "s", "places": ["coin"]} for row in rows}

    def made(**first):
        listed = [Stated(**(known.pop(first.get("result"), {}) | first))] if first else []
        listed += [Stated(**entry) for entry in known.values()]
        return places_page({key: listed}, rows, notebooks, read_papers(toy.project))

    made.rows = rows
    return made


def test_every_claim_stands_beside_its_result(page):
    text = page(result="Lemma 9", says="Coins are fair.", places=["thm-fair", "coin"], note="So.")
    row = "* - Lemma 9\n  - Coins are fair.\n  - {prf:ref}`thm-fair`, [A coin](chapters/coin)"
    assert f"{row}\n\n    So.\n* - " in text
    for row in page.rows:
        assert text.count(f">{row.id}</a>") == 1
        assert f'<a href="{row.url}"' in text
    assert " not measured</summary><a" in text


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            {"places": ["nowhere"]},
            r"Lemma 9 is said to stand at 'nowhere', which is not a notebook",
        ),
        ({"places": []}, "Lemma 9 has neither `places` nor a `note` that says why"),
    ],
)
def test_a_statement_without_place_or_reason_stops_the_build(page, wrong, words):
    with pytest.raises(WorkflowError, match=words):
        page(result="Lemma 9", says="s", **wrong)


def test_a_claim_about_nothing_that_is_listed_stops_the_build(page):
    row = page.rows[0]
    rows, key = [row], row.paper
    with pytest.raises(WorkflowError, match=f"{row.id} is about {row.result} of {key}"):
        places_page({key: []}, rows, {}, {})


def test_a_statement_is_listed_once(page):
    twice = [Stated(result="Lemma 9", says="s", note="n")] * 2
    with pytest.raises(WorkflowError, match="some lists Lemma 9 twice"):
        places_page({"some": twice}, [], {}, {})


def test_a_list_of_another_form_is_named(toy):
    assert read_stated(toy.project) is None
    (toy.project.book / "statements.yml").write_text("some: [{result: Lemma 9}]")
    with pytest.raises(WorkflowError, match=r"statements\.yml.*says"):
        read_stated(toy.project)


def test_this_book_lists_its_papers_and_finds_every_place():
    project = Project.find()
    claims, notebooks = load_claims(project), find_notebooks(project)
    stated = read_stated(project)
    text = places_page(stated, ledger_rows(claims, {}, "book"), notebooks, read_papers(project))
    assert all(text.count(f">{name}</a>") == 1 for name in claims)
    assert {paper_result(claim.locator) for claim in claims.values()} <= {
        item.result for listed in stated.values() for item in listed
    }
    assert set(stated) == {claim.paper for claim in claims.values()}
