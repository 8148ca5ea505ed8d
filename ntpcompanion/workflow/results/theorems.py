"""An index of the definitions and theorems of the book, made from the texts of its chapters."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ntpcompanion.workflow.chapters.numbering import papers_number
from ntpcompanion.workflow.claims.formatting import in_myst
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.results.list_tables import list_table

_OPENING = re.compile(
    r"^(?:`{3,}|:{3,})\{prf:(?!proof|ref)(\w+)\}[ ]*(.*)\n(?::(?!label).*\n)*:label:[ ]*(\S+)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Statement:
    """A numbered statement: `kind` such as theorem, `papers` its number in the paper or empty."""

    kind: str
    title: str
    papers: str
    label: str
    notebook: str


def statements(notebooks: Mapping[str, Notebook]) -> list[Statement]:
    """The statements of all notebooks, in the order of the book."""
    return [statement for notebook in notebooks.values() for statement in _of_notebook(notebook)]


def theorems_page(notebooks: Mapping[str, Notebook]) -> str:
    """A table for each chapter that states something, as MyST."""
    parts = []
    for notebook in notebooks.values():
        stated = list(_of_notebook(notebook))
        if stated:
            rows = [["Here", "In the paper", "What it says"]]
            rows += [[f"{{prf:ref}}`{s.label}`", s.papers or "–", s.title or "–"] for s in stated]
            parts += [f"## {in_myst(notebook.title)}", list_table(rows, [20, 25, 55])]
    return "\n\n".join(parts or ["The book states nothing yet."]) + "\n"


def _of_notebook(notebook: Notebook) -> Iterator[Statement]:
    for cell in notebook.node.cells:
        if cell.cell_type == "markdown":
            for kind, title, label in _OPENING.findall(cell.source):
                bare, papers = papers_number(title.strip())
                yield Statement(kind, bare, papers or "", label, notebook.name)
