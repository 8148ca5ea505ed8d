"""What the pages on results are made from; a subclass adds what its template shows besides."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import nbformat

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import read_text
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.claims.verdict import JudgedClaim
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.running.results import Result

_MATH = re.compile(r"\$[^$]+\$")
_COMMAND = re.compile(r"\\[a-zA-Z]+\s*")


class Paper(NamedTuple):
    """An entry of the bibliography: its short name, `Someone et al. 2023`, and its title."""

    name: str
    title: str


def read_papers(project: Project) -> dict[str, Paper]:
    """The entries of `book/references.bib` by key; its key stands for what one lacks."""
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
    people = entry.persons.get("author") or entry.persons.get("editor") or []
    surnames = [
        _plain(" ".join([*person.prelast_names, *person.last_names]))
        for person in people
        if str(person) != "others"
    ]
    names = " and ".join(surnames) or key
    if len(people) > 2 or len(surnames) < len(people):
        names = f"{surnames[0]} et al."
    year = _plain(entry.fields.get("year", "") or entry.fields.get("date", "")[:4])
    return Paper(f"{names} {year}".strip(), _plain(entry.fields.get("title", "")) or key)


def _plain(latex: str) -> str:
    """A text of LaTeX in Unicode, without braces and commands; formulas between dollar signs stay
    as they are, and so does a text whose braces do not match.
    """
    from pybtex.backends.plaintext import Backend
    from pybtex.exceptions import PybtexError
    from pybtex.richtext import Text

    formulas = _MATH.findall(latex)
    try:
        # not `render_as`, which looks through all installed packages each time
        text = Text.from_latex(_MATH.sub("\ue000", latex)).render(Backend())
    except PybtexError:
        return latex
    text = " ".join(_COMMAND.sub("", text).split())
    for formula in formulas:
        text = text.replace("\ue000", formula, 1)
    return text


@dataclass(frozen=True, kw_only=True)
class View:
    """A book at a profile: the judged claims by id; notebooks, their stored runs and their chapters
    as they are shown, by name; and the papers of the bibliography, by key.
    """

    profile: str
    judged: Mapping[str, JudgedClaim]
    results: Mapping[str, Result]
    notebooks: Mapping[str, Notebook]
    papers: Mapping[str, Paper] = field(default_factory=dict[str, Paper])
    pages: Mapping[str, nbformat.NotebookNode] = field(default_factory=dict)

    def title(self, notebook: str) -> str:
        return self.notebooks[notebook].title if notebook in self.notebooks else notebook
