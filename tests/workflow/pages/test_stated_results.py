"""What is stated in this book and by its papers, and what they leave open."""

import re

import pytest

from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.yaml_files import read_optional
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.pages.stated_results import (
    Listed,
    Question,
    Stated,
    Statement,
    answered,
    chapters_that_state,
    placed,
    statements,
)
from ntpcompanion.workflow.pages.views import View
from tests.refusing import refused

STATED = """Prose with $p = 1/2$.

```{prf:theorem} A coin is fair (theorem 2 of the paper, constants ours)
:label: thm-fair

Always.
```

````{prf:lemma}
:nonumber:
:label: lem-bare

Yes.
````

```{prf:definition} Half (not in the paper)
:label: def-half
```

```{prf:proof}
:label: no-statement
(Of {prf:ref}`thm-fair`.)
```
"""


def test_statements_with_number_and_title(toy):
    toy.edit("notebooks/coin.md", "Prose with $p = 1/2$.\n", STATED)
    notebooks = find_notebooks(toy.project)
    assert statements(notebooks) == [
        Statement("theorem", "A coin is fair", "Theorem 2, constants ours", "thm-fair", "coin"),
        Statement("lemma", "", "", "lem-bare", "coin"),
        Statement("definition", "Half", "", "def-half", "coin"),
    ]
    assert chapters_that_state(notebooks) == [("A coin", statements(notebooks))]


def test_no_labelled_statement_of_the_book_is_missed():
    notebooks = find_notebooks(Project.find())
    opened = 0
    for notebook in notebooks.values():
        text = notebook.path.read_text(encoding="utf-8")
        opened += len(re.findall(r"\{prf:(?:theorem|lemma|proposition|definition|remark)\}", text))
        opened += len(re.findall(r"\{prf:(?:corollary|assumption|example|conjecture)\}", text))
    found = statements(notebooks)
    assert len(found) == opened > 20
    assert len({statement.label for statement in found}) == len(found)


def view_of(project=None, judged=None):
    """The view of a project in which nothing was measured, or of a book with these claims alone."""
    notebooks = find_notebooks(project) if project else {}
    judged = judged or judged_claims(load_claims(project) if project else {}, [], "book")
    return View(profile="book", judged=judged, results={}, notebooks=notebooks)


@pytest.fixture
def view(toy):
    toy.edit("notebooks/coin.md", "Prose with $p = 1/2$.\n", STATED)
    return view_of(toy.project)


@pytest.fixture
def places(view):
    """What stands beside a statement given as keywords of `Stated`, and beside those of the toy's
    claims.
    """
    claims = [one.claim for one in view.judged.values()]
    (key,) = {claim.paper for claim in claims}
    names = {claim.result for claim in claims}
    known = {name: {"result": name, "says": "s", "places": ["coin"]} for name in names}

    def made(**first):
        listed = [Stated(**(known.pop(first.get("result"), {}) | first))] if first else []
        listed += [Stated(**entry) for entry in known.values()]
        ((name, rows),) = placed({key: listed}, view)
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
    with refused(words):
        places(result="Lemma 9", says="s", **wrong)


def test_the_deciding_claims_of_a_statement_are_named_and_are_at_most_three(toy):
    claim = next(iter(load_claims(toy.project).values()))
    four = {f"toy.{n}": claim.model_copy(update={"id": f"toy.{n}"}) for n in range(4)}
    listed = {"result": claim.result, "says": "s", "note": "n"}
    view = view_of(judged=judged_claims(four, [], "book"))

    def rows(**named):
        ((_, found),) = placed({claim.paper: [Stated(**listed, **named)]}, view)
        return [[one.claim.id for one in part] for part in found[0][2:]]

    assert rows(decided_by=["toy.2", "toy.0"]) == [["toy.2", "toy.0"], ["toy.1", "toy.3"]]
    for named in ({}, {"decided_by": [*four]}):
        with refused("has 4 claims: name the one to 3 that decide it"):
            rows(**named)


def test_what_is_listed_twice_or_not_at_all_stops_the_build(view):
    with refused(r"toy\.half is about Theorem 1 of liu2023same"):
        placed({"liu2023same": []}, view)
    twice = [Stated(result="Lemma 9", says="s", note="n")] * 2
    with refused("some lists Lemma 9 twice"):
        placed({"some": twice}, view_of())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"proved": ["def-half"]}, r"'Why\?': 'def-half' is not the label of a theorem"),
        ({"proved": ["thm-gone"]}, "'thm-gone' is not the label of a theorem"),
        ({"measured": ["toy.gone"]}, r"'toy\.gone' is not a claim"),
        ({}, "needs `proved`, `measured` or `open`"),
    ],
)
def test_what_a_question_names_exists(view, wrong, words):
    fields = {"question": "Why?", "answer": "So."}
    with refused(words):
        answered([Question(**fields, **wrong)], view)
    ((_, proofs, _),) = answered([Question(**fields, proved=["thm-fair"])], view)
    assert proofs == ["{prf:ref}`thm-fair`"]


def test_this_book_lists_its_papers_and_questions_and_finds_every_place():
    project = Project.find()
    view, stated = view_of(project), read_optional(project.book / "statements.yml", Listed)
    rows = [row for _, rows in placed(stated, view) for row in rows]
    beside = [one.claim.id for _, _, *about in rows for part in about for one in part]
    assert sorted(beside) == sorted(view.judged)
    # a refutation of what a paper states is not left to the ledger alone
    for _, _, deciding, others in rows:
        failing = [one.claim for one in others if one.claim.expected_verdict == "refuted"]
        refuted = {claim.kind for claim in failing} - {"ours"}
        assert not refuted or "refuted" in {one.claim.expected_verdict for one in deciding}
    assert set(stated) == {one.claim.paper for one in view.judged.values()}
    asked = answered(read_optional(project.book / "open_questions.yml", list[Question]), view)
    assert all(claims or question.open for question, _, claims in asked)
