"""What the book adds to the section "Run this yourself" of a chapter: the command that repeats the
page, its seconds, parameters, files, source, and how to cite it.
"""

import re
import shlex
from dataclasses import dataclass

import nbformat

from ntpcompanion.workflow.chapters.citation import Book, bibtex
from ntpcompanion.workflow.chapters.templating import render
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.notebooks.parameters import Parameter
from ntpcompanion.workflow.running.results import Result

HEADING = "## Run this yourself"
_HEADING = re.compile(rf"^{HEADING}[ \t]*$", re.MULTILINE)
_GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?")
_NEXT = re.compile(r"^## ", re.MULTILINE)


@dataclass(frozen=True)
class Ending:
    """The end of a chapter, as its templates show it; `path` is its source in the repository of the
    book, and `commit` the one that holds it as it is, None where there is none.
    """

    notebook: Notebook
    result: Result
    book: Book
    path: str
    commit: str | None = None

    @property
    def command(self) -> str:
        """The command that repeats the page."""
        result = self.result
        profile = "" if result.profile == "book" else f" --profile {result.profile}"
        return f"ntpcompanion execute {shlex.quote(result.notebook)}{profile}"

    @property
    def github(self) -> str:
        """Owner and name of the repository on GitHub, from where Binder and a Codespace open a
        commit; empty for any other, and without a commit.
        """
        match = _GITHUB.fullmatch(self.book.repository)
        return match[1] if match and self.commit else ""

    @property
    def entry(self) -> str:
        """The chapter in BibTeX."""
        year = self.result.started[:4]
        return bibtex(self.book, self.notebook.name, self.notebook.title, year)

    @property
    def parameters(self) -> list[tuple[str, str, str | None, list[str], str]]:
        """Of each parameter the name, the value, the default where that is another one, the meaning
        with every other part as code, and the range.
        """
        return [self._parameter(each) for each in self.notebook.parameters.values()]

    def _parameter(self, parameter: Parameter) -> tuple[str, str, str | None, list[str], str]:
        value, default = self.result.parameters[parameter.name], parameter.default
        domain = str(parameter.domain or "")
        meaning = re.split(r"`([^`]+)`", parameter.meaning.removesuffix(domain).strip())
        other = None if value == default else _literal(default)
        return parameter.name, _literal(value), other, meaning, re.sub(r"\binf\b", "∞", domain)


def add_ending(cells: list[nbformat.NotebookNode], view: Ending) -> list[nbformat.NotebookNode]:
    """The cells of a page with the section filled: the command below its heading, the rest at its
    end. A page without the section gets it at its end.
    """
    first, last = render("command.md", view), render("ending.md", view)
    for index, cell in enumerate(cells):
        match = _HEADING.search(cell.source) if cell.cell_type == "markdown" else None
        if match:
            above, below = cell.source[: match.end()], cell.source[match.end() :]
            section, after = _until_next([_text(below), *cells[index + 1 :]])
            return [*cells[:index], _text(f"{above}\n\n{first}"), *section, _text(last), *after]
    return [*cells, _text(f"{HEADING}\n\n{first}\n\n{last}")]


def _until_next(
    cells: list[nbformat.NotebookNode],
) -> tuple[list[nbformat.NotebookNode], list[nbformat.NotebookNode]]:
    """The cells before the next heading of level two, and those from it on."""
    for index, cell in enumerate(cells):
        match = _NEXT.search(cell.source) if cell.cell_type == "markdown" else None
        if match:
            above, below = cell.source[: match.start()], cell.source[match.start() :]
            return [*cells[:index], _text(above)], [_text(below), *cells[index + 1 :]]
    return cells, []


def _text(source: str) -> nbformat.NotebookNode:
    cell: nbformat.NotebookNode = nbformat.v4.new_markdown_cell(source)
    return cell


def _literal(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_literal, value)) or "none"
    return str(value)
