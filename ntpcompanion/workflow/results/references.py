"""The papers of the bibliography, by the few words that a filter or a heading shows."""

import re
from dataclasses import dataclass
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.texts import read_text

_MATH = re.compile(r"\$[^$]+\$")
# the codec knows no accent on a letter without its dot
_DOTLESS = re.compile(r"(\\['`^\"~=.uvHc])\s*(?:\{\s*\\([ij])\s*\}|\\([ij])(?![a-zA-Z]))")
_COMMAND = re.compile(r"\\[a-zA-Z]+\s*")


@dataclass(frozen=True)
class Paper:
    """An entry of the bibliography: surnames of the `authors`, and whether there are `others`."""

    key: str
    title: str
    authors: tuple[str, ...]
    year: str
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
    named = [person for person in people if str(person) != "others"]
    return Paper(
        key,
        title=plain_text(fields.get("title", "")) or key,
        authors=tuple(map(_surname, named)),
        year=plain_text(fields.get("year", "") or fields.get("date", "")[:4]),
        others=len(named) < len(people),
    )


def _surname(person: Any) -> str:
    """The surname of a pybtex.database.Person, with its particles."""
    return plain_text(" ".join([*person.prelast_names, *person.last_names]))


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
