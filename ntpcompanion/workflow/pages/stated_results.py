"""What is stated and where: the definitions and theorems of the book, from the texts of its
chapters; what the papers state, with its place in the book and the claims about it; and questions
that a paper leaves open, with what the book proves and measures about each.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.claims.formatting import in_myst
from ntpcompanion.workflow.claims.verdict import JudgedClaim
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.pages.figures import mystnb_options
from ntpcompanion.workflow.pages.numbering import papers_number
from ntpcompanion.workflow.pages.views import View

STATED, QUESTIONS = "statements.yml", "open_questions.yml"
DECIDING = 3  # claims at most that a page shows beside a statement
PROOFS = {"theorem", "proposition", "lemma", "corollary"}
_OPENING = re.compile(
    r"^(?:`{3,}|:{3,})\{prf:(?!proof|ref)(\w+)\}[ ]*(.*)\n(?::(?!label).*\n)*:label:[ ]*(\S+)",
    re.MULTILINE,
)


class Statement(NamedTuple):
    """A numbered statement: `kind` such as theorem, `papers` its number in the paper or empty."""

    kind: str
    title: str
    papers: str
    label: str
    notebook: str


class Stated(BaseModel):
    """One thing that a paper states: its number there, what it says in our words, and where the
    book treats it: notebooks, labels of statements, names of figures.

    `decided_by` names the claims about it that decide it; without it all do. `note` says what is
    left out, or why it has no place.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    result: str
    says: str
    places: list[str] = []
    decided_by: list[str] = []
    note: str = ""


class Question(BaseModel):
    """A question, the book's answer in words, the labels of what is proved, the claims that measure
    it, and what remains open.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str
    answer: str
    proved: list[str] = []
    measured: list[str] = []
    open: str = ""


Listed = dict[str, list[Stated]]  # by the key of the paper, in its order
# what a paper states, how the text of a page refers to its places, the claims that decide it, and
# the others about it
Placed = tuple[Stated, list[str], list[JudgedClaim], list[JudgedClaim]]
# with how the text of a page refers to what is proved, and the claims
Answered = tuple[Question, list[str], list[JudgedClaim]]


def statements(notebooks: Mapping[str, Notebook]) -> list[Statement]:
    return [statement for notebook in notebooks.values() for statement in _of_notebook(notebook)]


def chapters_that_state(notebooks: Mapping[str, Notebook]) -> list[tuple[str, list[Statement]]]:
    """The title of each chapter that states something, and its statements."""
    stated = [(each.title, [*_of_notebook(each)]) for each in notebooks.values()]
    return [(title, listed) for title, listed in stated if listed]


def _of_notebook(notebook: Notebook) -> Iterator[Statement]:
    for cell in notebook.node.cells:
        if cell.cell_type == "markdown":
            for kind, title, label in _OPENING.findall(cell.source):
                bare, papers = papers_number(title.strip())
                yield Statement(kind, bare, papers or "", label, notebook.name)


def placed(stated: Listed, view: View) -> list[tuple[str, list[Placed]]]:
    """The names of the papers, each with what it states."""
    known = known_places(view.notebooks)
    about: dict[tuple[str, str], dict[str, JudgedClaim]] = {}
    for name, one in view.judged.items():
        about.setdefault((one.claim.paper, one.claim.result), {})[name] = one
    _require(STATED, _misplaced(stated, about, known))

    def row(key: str, item: Stated) -> Placed:
        claims = about.get((key, item.result), {})
        deciding = item.decided_by or list(claims)
        others = [one for name, one in claims.items() if name not in deciding]
        places = [known[place] for place in item.places]
        return item, places, [claims[name] for name in deciding], others

    return [
        (view.papers[key].name if key in view.papers else key, [row(key, item) for item in listed])
        for key, listed in stated.items()
    ]


def answered(questions: list[Question], view: View) -> list[Answered]:
    _require(QUESTIONS, _unanswered(questions, view))
    places = known_places(view.notebooks)
    return [
        (one, [places[name] for name in one.proved], [view.judged[name] for name in one.measured])
        for one in questions
    ]


def known_places(notebooks: Mapping[str, Notebook]) -> dict[str, str]:
    """How the text of a page refers to each place."""
    known = {name: f"[{in_myst(each.title)}](chapters/{name})" for name, each in notebooks.items()}
    for notebook in notebooks.values():
        for cell in notebook.node.cells:
            if name := mystnb_options(cell, "figure").get("name"):
                known[name] = f"{{numref}}`{name}`"
    return known | {item.label: f"{{prf:ref}}`{item.label}`" for item in statements(notebooks)}


def _require(file: str, faults: Iterator[str]) -> None:
    if listed := list(faults):
        raise WorkflowError(f"book/{file}: " + "; ".join(listed) + ".")


def _misplaced(
    stated: Listed,
    about: Mapping[tuple[str, str], Mapping[str, JudgedClaim]],
    known: Mapping[str, str],
) -> Iterator[str]:
    there = Counter((key, item.result) for key, listed in stated.items() for item in listed)
    yield from (f"{key} lists {name} twice" for (key, name), count in there.items() if count > 1)
    for key, item in ((key, item) for key, listed in stated.items() for item in listed):
        claims = about.get((key, item.result), {})
        for place in (each for each in item.places if each not in known):
            sentence = f"{item.result} is said to stand at {place!r}, which is not a notebook"
            yield f"{sentence}, label of a statement or name of a figure"
        if not item.places and not item.note:
            yield f"{item.result} has neither `places` nor a `note` that says why"
        for name in (each for each in item.decided_by if each not in claims):
            sentence = f"{item.result} is said to be decided by {name!r}"
            yield f"{sentence}, which is not a claim about it"
        if (count := len(item.decided_by or claims)) > DECIDING:
            sentence = f"{item.result} of {key} has {count} claims: name the one to {DECIDING}"
            yield f"{sentence} that decide it in `decided_by`"
    for (key, result), claims in about.items():
        if (key, result) not in there:
            sentence = f"is about {result} of {key}, which is not listed"
            yield from (f"{name} {sentence}" for name in claims)


def _unanswered(questions: list[Question], view: View) -> Iterator[str]:
    proofs = {item.label for item in statements(view.notebooks) if item.kind in PROOFS}
    kind = "the label of a theorem, proposition, lemma or corollary"
    for one in questions:
        for name in one.proved:
            if name not in proofs:
                yield f"{one.question!r}: {name!r} is not {kind}"
        for name in one.measured:
            if name not in view.judged:
                yield f"{one.question!r}: {name!r} is not a claim"
        if not (one.proved or one.measured or one.open):
            yield f"{one.question!r} needs `proved`, `measured` or `open`"
