"""Questions that a paper leaves open, with what the book proves and measures about each."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.schema import read_optional
from ntpcompanion.workflow.claims.verdict import JudgedClaim
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.results.paper_statements import known_places
from ntpcompanion.workflow.results.theorems import statements

FILE = "open_questions.yml"
PROOFS = {"theorem", "proposition", "lemma", "corollary"}


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


# with how the text of a page refers to what is proved, and the claims
Answered = tuple[Question, list[str], list[JudgedClaim]]


def read_questions(project: Project) -> list[Question] | None:
    """The content of `book/open_questions.yml`; None where there is none. Raises WorkflowError
    naming what does not fit.
    """
    questions: list[Question] | None = read_optional(project.book / FILE, list[Question])
    return questions


def answered(
    questions: list[Question], judged: Mapping[str, JudgedClaim], notebooks: Mapping[str, Notebook]
) -> list[Answered]:
    """Each question with its proofs and its claims.

    Raises WorkflowError if a label is not that of a theorem, proposition, lemma or corollary of the
    book, if a claim is unknown, or if a question has none of `proved`, `measured` and `open`.
    """
    proofs = {item.label for item in statements(notebooks) if item.kind in PROOFS}
    faults = [
        f"{one.question!r}: {name!r} is not {kind}"
        for one in questions
        for named, known, kind in (
            (one.proved, proofs, "the label of a theorem, proposition, lemma or corollary"),
            (one.measured, judged, "a claim"),
        )
        for name in named
        if name not in known
    ]
    faults += [
        f"{one.question!r} needs `proved`, `measured` or `open`"
        for one in questions
        if not (one.proved or one.measured or one.open)
    ]
    if faults:
        raise WorkflowError(f"book/{FILE}: " + "; ".join(faults) + ".")
    places = known_places(notebooks)
    return [
        (one, [places[name] for name in one.proved], [judged[name] for name in one.measured])
        for one in questions
    ]
