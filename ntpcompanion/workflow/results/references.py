"""The papers of the bibliography, by the few words that a filter or a heading shows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.texts import read_text

_MATH = re.compile(r"\$[^$]+\$")
# the codec knows no accent on a letter without its dot
_DOTLESS = re.compile(r"(\\['`^\"~=.uvHc])\s*(?:\{\s*\\([ij])\s*\}|\\([ij])(?![a-zA-Z]))")
_COMMAND = re.compile(r"\\[a-zA-Z]+\s*")
_DOI = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)", re.IGNORECASE)
_ARXIV = re.compile(r"(?:arxiv:|abs/|^)((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7}))", re.I)
# the fields in which the number of a preprint stands, by who writes them
_PREPRINT = ("eprint", "note", "journal", "volume", "howpublished", "number")


@dataclass(frozen=True)
class Paper:
    """An entry of the bibliography: surnames of the `authors`, the `people` by full name, whether
    there are `others`, and the address under which the paper is to be had (empty if the entry names
    none).
    """

    key: str
    title: str
    authors: tuple[str, ...]
    year: str
    people: tuple[str, ...] = ()
    reference: str = ""
    others: bool = False

    @property
    def name(self) -> str:
        """`Someone et al. 2023`."""
        names = " and ".join(self.authors) or self.key
        if len(self.authors) > 2 or (self.authors and self.others):
            names = f"{self.authors[0]} et al."
        return f"{names} {self.year}".strip()


def read_papers(project: Project) -> dict[str, Paper]:
    """The entries of `book/references.bib` by key; those without title or authors show their key.

    Raises WorkflowError with what BibTeX would not read.
    """
    path = project.book / "references.bib"
    if not path.is_file():
        return {}
    # here: only builds and releases read it
    from pybtex import errors
    from pybtex.database.input.bibtex import Parser
    from pybtex.exceptions import PybtexError

    text = read_text(path)
    with errors.capture() as faults:
        try:
            entries = Parser().parse_string(text).entries
        except PybtexError as error:
            faults.append(error)
    if faults:
        raise WorkflowError(f"{path}: {'; '.join(map(str, faults))}. Correct the entry.")
    return {key: _paper(key, entry) for key, entry in entries.items()}


def _paper(key: str, entry: Any) -> Paper:
    """The paper of an entry, a pybtex.database.Entry."""
    fields = {name.lower(): text for name, text in entry.fields.items()}
    people = entry.persons.get("author") or entry.persons.get("editor") or []
    parts = [_parts(person) for person in people if str(person) != "others"]
    return Paper(
        key,
        title=plain_text(fields.get("title", "")) or key,
        authors=tuple(surname for _, surname, _ in parts),
        year=plain_text(fields.get("year", "") or fields.get("date", "")[:4]),
        people=tuple(" ".join(filter(None, person)) for person in parts),
        reference=_reference(fields),
        others=len(parts) < len(people),
    )


def _parts(person: Any) -> tuple[str, str, str]:
    """Given names, surname with its particles, and suffix of a pybtex.database.Person."""
    first = [*person.first_names, *person.middle_names]
    last = [*person.prelast_names, *person.last_names]
    forenames, surname, suffix = (
        plain_text(" ".join(n)) for n in (first, last, person.lineage_names)
    )
    return forenames, surname, suffix


def plain_text(latex: str) -> str:
    """A text of LaTeX in Unicode, without braces and commands; formulas between dollar signs stay
    as they are, and so does a text whose braces do not match.
    """
    from pybtex.exceptions import PybtexError
    from pybtex.richtext import Text

    formulas = _MATH.findall(latex)
    marked = _DOTLESS.sub(lambda accent: f"{accent[1]}{{{accent[2] or accent[3]}}}", latex)
    try:
        text = Text.from_latex(_MATH.sub("\ue000", marked)).render_as("text")
    except PybtexError:
        return latex
    text = " ".join(_COMMAND.sub("", text).split())
    for formula in formulas:
        text = text.replace("\ue000", formula, 1)
    return text


def _reference(fields: Mapping[str, str]) -> str:
    """The address of a paper: its DOI, its page, or its preprint."""
    texts = {name: re.sub(r"\\([_%&#~{}])", r"\1", text) for name, text in fields.items()}
    if doi := _DOI.sub("", texts.get("doi", "").strip()):
        return f"https://doi.org/{doi}"
    if url := texts.get("url", "").strip():
        return url
    for name in _PREPRINT:
        if number := _ARXIV.search(texts.get(name, "").strip()):
            return f"https://arxiv.org/abs/{number[1]}"
    return ""
