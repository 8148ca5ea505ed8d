"""A list of what the papers state, with its place in the book and the claims about it."""

from collections import Counter
from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ConfigDict

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.schema import read_optional
from ntpcompanion.workflow.claims.formatting import in_myst
from ntpcompanion.workflow.claims.verdict import JudgedClaim
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.results.references import Paper
from ntpcompanion.workflow.results.theorems import statements

FILE = "statements.yml"
DECIDING = 3  # claims at most that a page shows beside a statement


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


Listed = dict[str, list[Stated]]  # by the key of the paper, in its order
Result = tuple[str, str]  # the key of a paper, and one of its results


def read_stated(project: Project) -> Listed | None:
    """The content of `book/statements.yml`; None where there is none. Raises WorkflowError naming
    what does not fit.
    """
    listed: Listed | None = read_optional(project.book / FILE, Listed)
    return listed


# what a paper states, how the text of a page refers to its places, the claims that decide it, and
# the others about it
Placed = tuple[Stated, list[str], list[JudgedClaim], list[JudgedClaim]]


def placed(
    stated: Listed,
    judged: Mapping[str, JudgedClaim],
    notebooks: Mapping[str, Notebook],
    papers: Mapping[str, Paper],
) -> list[tuple[str, list[Placed]]]:
    """The names of the papers, each with what it states.

    Parameters
    ----------
    stated
        what the papers state.
    judged
        the claims: those that decide a result of a paper stand beside it.
    notebooks
        by name: the book's own statements and figures are found in them.
    papers
        of the bibliography, by key.

    Raises
    ------
    WorkflowError
        a place that the book does not have, a statement without a place and without a reason, one
        that is listed twice, a claim about something that is not listed, more than three claims
        that decide one statement, or one that is not about it.
    """
    known = known_places(notebooks)
    about: dict[Result, dict[str, JudgedClaim]] = {}
    for name, one in judged.items():
        about.setdefault((one.claim.paper, one.claim.result), {})[name] = one
    if faults := [*_faults(stated, about, known)]:
        raise WorkflowError(f"book/{FILE}: " + "; ".join(faults) + ".")

    def row(key: str, item: Stated) -> Placed:
        claims = about.get((key, item.result), {})
        deciding = item.decided_by or list(claims)
        others = [one for name, one in claims.items() if name not in deciding]
        places = [known[place] for place in item.places]
        return item, places, [claims[name] for name in deciding], others

    return [
        (papers[key].name if key in papers else key, [row(key, item) for item in listed])
        for key, listed in stated.items()
    ]


def known_places(notebooks: Mapping[str, Notebook]) -> dict[str, str]:
    """How the text of a page refers to each place."""
    known = {
        name: f"[{in_myst(notebook.title)}](chapters/{name})"
        for name, notebook in notebooks.items()
    }
    for notebook in notebooks.values():
        for cell in notebook.node.cells:
            figure = cell.metadata.get("mystnb", {}).get("figure") or {}
            if name := figure.get("name"):
                known[name] = f"{{numref}}`{name}`"
    return known | {item.label: f"{{prf:ref}}`{item.label}`" for item in statements(notebooks)}


def _faults(
    stated: Listed, about: Mapping[Result, Mapping[str, JudgedClaim]], known: Mapping[str, str]
) -> Iterator[str]:
    there = Counter((key, item.result) for key, listed in stated.items() for item in listed)
    yield from (f"{key} lists {name} twice" for (key, name), count in there.items() if count > 1)
    for key, item in ((key, item) for key, listed in stated.items() for item in listed):
        claims = about.get((key, item.result), {})
        for place in item.places:
            if place not in known:
                sentence = f"{item.result} is said to stand at {place!r}, which is not a notebook"
                yield f"{sentence}, label of a statement or name of a figure"
        if not item.places and not item.note:
            yield f"{item.result} has neither `places` nor a `note` that says why"
        for name in item.decided_by:
            if name not in claims:
                sentence = f"{item.result} is said to be decided by {name!r}"
                yield f"{sentence}, which is not a claim about it"
        if len(item.decided_by or claims) > DECIDING:
            yield (
                f"{item.result} of {key} has {len(item.decided_by or claims)} claims: name the one "
                f"to {DECIDING} that decide it in `decided_by`"
            )
    for (key, result), claims in about.items():
        if (key, result) not in there:
            yield from (
                f"{name} is about {result} of {key}, which is not listed" for name in claims
            )
