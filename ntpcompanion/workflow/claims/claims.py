"""Claims of the papers as data: read, checked, and in the words of pages."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from ntpcompanion.spelling import known_as
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.yaml_files import read_yaml
from ntpcompanion.workflow.claims.expectation import Expectation, NotNegative
from ntpcompanion.workflow.claims.measurement import CLAIM_ID

Profile = Literal["smoke", "book", "paper"]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=3)]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=3, max_length=110)]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=3, max_length=45)]

# Whose sentence it is, what it was read from, and how its setting compares with the paper's; with
# the words that pages use.
KINDS = {
    "stated": "the paper states it",
    "reading": "one reading of the paper",
    "slip": "a printing error and its correction",
    "ours": "a question of this book",
}
BASES = {
    "text": "the text of the paper",
    "code": "the authors' code",
    "abstract": "the abstract only",
    "secondary": "a secondary source",
    "derived": "derived in this book",
}
SCOPES = {
    "same": "the paper's setting",
    "smaller": "a smaller setting than the paper's",
    "text": "one text, the default text of the chapter",
}

# Results of a paper as readers look for them: statements first, then experiments, then text.
ORDER = (
    "Equation", "Definition", "Assumption", "Remark", "Proposition", "Lemma", "Fact", "Theorem",
    "Corollary", "Figure", "Table", "Section", "Footnote", "Appendix",
)  # fmt: skip
_ABBREVIATED = {"Fig.": "Figure", "Eq.": "Equation", "Sec.": "Section", "App.": "Appendix"}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)  # a text is not a number


class Band(_Strict):
    """How far an exact value may move from its stored baseline before the build turns red."""

    relative: Annotated[float, Field(ge=0, lt=1)] = 0.0
    absolute: NotNegative = 0.0

    def width(self, stored: float) -> float:
        return max(self.absolute, self.relative * abs(stored))


class Claim(_Strict):
    """One sentence that a number decides: a paper's, or one of this book about it."""

    id: Annotated[str, StringConstraints(pattern=CLAIM_ID)]
    paper: Text
    locator: Text
    kind: Literal["stated", "reading", "slip", "ours"]
    basis: Literal["text", "code", "abstract", "secondary", "derived"]
    scope: Literal["same", "smaller", "text"]
    statement: Text
    short: Line | None = None
    quantity: Words | None = None
    why: Text | None = None
    measures: Text
    source: Text
    notebook: Text
    expect: dict[Profile, Expectation] = {}
    exploratory: Text | None = None
    close: Text | None = None
    paper_value: float | str | None = None
    expected_verdict: Literal["supported", "refuted", "inconclusive"] = "supported"
    band: Band = Band()

    @model_validator(mode="after")
    def _judged_or_not(self) -> "Claim":
        if bool(self.expect) == (self.exploratory is not None):
            raise ValueError(
                "needs either `expect`, by which it is judged, or `exploratory`, which says why it "
                "is not"
            )
        return self

    @property
    def words(self) -> str:
        return self.short or self.statement

    @property
    def result(self) -> str:
        return paper_result(self.locator)

    def expectation_at(self, profile: str) -> Expectation | None:
        """What is expected of the number at that profile; None: it is not judged there."""
        return next((item for name, item in self.expect.items() if name == profile), None)

    def measured_at(self, profile: str) -> bool:
        """Whether its notebook must measure it at that profile."""
        return profile in self.expect or self.exploratory is not None


def load_claims(project: Project) -> dict[str, Claim]:
    """All claims by id, in the order of the files and in each as they stand."""
    notebooks = {path.stem for path in project.notebooks.glob("*.md")}
    claims: dict[str, Claim] = {}
    for path in project.claim_files:
        _read_claims(path, notebooks, claims)
    return claims


def _read_claims(path: Path, notebooks: set[str], claims: dict[str, Claim]) -> None:
    """Add the claims of one file to those of the files before it."""
    items = read_yaml(path) or []
    if not isinstance(items, list):
        raise WorkflowError(
            f"{path} must be a list of items `- id: ...`, got {type(items).__name__}."
        )
    faults: list[str] = []
    for number, item in enumerate(items, 1):
        name = item.get("id", f"item {number}") if isinstance(item, dict) else f"item {number}"
        try:
            claim = Claim.model_validate(item)
        except ValidationError as error:
            faults += [
                f"{name}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()
            ]
            continue
        if claim.id in claims:
            faults.append(f"{name}: the id is used twice")
        claim = claim.model_copy(update={"notebook": known_as(claim.notebook, notebooks)})
        if claim.notebook not in notebooks:
            faults.append(f"{name}: notebook: there is no notebooks/{claim.notebook}.md")
        claims[claim.id] = claim
    if faults:
        raise WorkflowError(f"{path}:\n" + "\n".join(f"  {fault}" for fault in faults))


def paper_result(locator: str) -> str:
    """The result of a paper that a locator begins with: `about Fig. 3, trace` → `Figure 3`."""
    head = re.split(r"[,:;]| and | \(", locator.removeprefix("about "))[0].strip()
    numbered = re.match(r"Equation \((\d+)\)", locator.removeprefix("about "))
    if numbered:
        head = f"Equation {numbered[1]}"
    word, _, rest = head.partition(" ")
    word = _ABBREVIATED.get(word, word)
    if word.endswith("s") and word[:-1] in ORDER:  # `Equations 4 and 6`, `Figures 3 to 5`
        word, rest = word[:-1], rest.split(" ")[0]
    return f"{word} {rest}".strip()


def result_order(result: str) -> tuple[int, list[tuple[bool, int, str]]]:
    """A key that sorts results by sort of statement, then by number: Lemma 2 before Lemma 10, and
    that before Lemma D.1 of an appendix.
    """
    word, _, rest = result.partition(" ")
    place = ORDER.index(word) if word in ORDER else len(ORDER)
    parts = re.findall(r"(\d+)|([^\d\W]+)", rest if word in ORDER else result)
    return place, [(not number, int(number or 0), text) for number, text in parts]
