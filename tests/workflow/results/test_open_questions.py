"""Questions that a paper leaves open, on a toy book and on this one."""

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.chapters.templating import render
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.results.open_questions import Question, answered, read_questions

FAIR = "Prose.\n\n```{prf:theorem} Fair\n:label: thm-fair\n\nAlways.\n```\n"
DEFINED = "\n```{prf:definition} Coin\n:label: def-coin\n\nIt has two sides.\n```\n"


@pytest.fixture
def ask(toy):
    toy.edit("notebooks/coin.md", "Prose with $p = 1/2$.\n", FAIR + DEFINED)
    notebooks = find_notebooks(toy.project)
    judged = judged_claims(load_claims(toy.project), [], "smoke")

    def asked(**fields):
        return answered([Question(question="Why?", answer="So.", **fields)], judged, notebooks)

    return asked


def test_proofs_and_claims_stand_beside_a_question(ask):
    ((question, proofs, claims),) = ask(proved=["thm-fair"], measured=["toy.half"], open="Dice.")
    assert proofs == ["{prf:ref}`thm-fair`"]
    assert [one.claim.id for one in claims] == ["toy.half"]
    text = render("open_questions.md", [(question, proofs, claims)])
    assert "Proved: {prf:ref}`thm-fair`." in text
    assert "Open: Dice." in text
    assert ": not measured (" in text


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"proved": ["def-coin"]}, r"'Why\?': 'def-coin' is not the label of a theorem"),
        ({"proved": ["thm-gone"]}, "'thm-gone' is not the label of a theorem"),
        ({"measured": ["toy.gone"]}, r"'toy\.gone' is not a claim"),
        ({}, "needs `proved`, `measured` or `open`"),
    ],
)
def test_what_a_question_names_exists(ask, wrong, words):
    with pytest.raises(WorkflowError, match=words):
        ask(**wrong)


def test_this_book_answers_from_its_proofs_and_claims():
    project = Project.find()
    judged = judged_claims(load_claims(project), [], "book")
    rows = answered(read_questions(project), judged, find_notebooks(project))
    assert all(claims or question.open for question, _, claims in rows)
