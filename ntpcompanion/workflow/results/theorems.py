"""An index of the definitions and theorems of the book, made from the texts of its chapters."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ntpcompanion.workflow.chapters.numbering import papers_number
from ntpcompanion.workflow.notebooks.notebook import Notebook

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
