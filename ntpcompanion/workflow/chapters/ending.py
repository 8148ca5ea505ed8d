"""What the book adds to the section "Run this yourself" of a chapter: the command that repeats the
page, its seconds, its parameters and its source.
"""

import re
import shlex
from dataclasses import dataclass

import nbformat

from ntpcompanion.workflow.chapters.templating import render
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.notebooks.parameters import Parameter
from ntpcompanion.workflow.running.results import Result

HEADING = "## Run this yourself"
_HEADING = re.compile(rf"^{HEADING}[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Ending:
    """The end of a chapter, as its template shows it."""

    notebook: Notebook
    result: Result

    @property
    def command(self) -> str:
        """The command that repeats the page."""
        result = self.result
        profile = "" if result.profile == "book" else f" --profile {result.profile}"
        return f"ntpcompanion execute {shlex.quote(result.notebook)}{profile}"

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
    """The cells of a page with the ending below the heading of its section, which a page without it
    gets at its end.
    """
    ending = render("ending.md", view)
    for cell in cells:
        if cell.cell_type == "markdown" and (match := _HEADING.search(cell.source)):
            above, below = cell.source[: match.end()], cell.source[match.end() :]
            cell["source"] = f"{above}\n\n{ending}\n{below}"
            return cells
    return [*cells, nbformat.v4.new_markdown_cell(f"{HEADING}\n\n{ending}")]


def _literal(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_literal, value)) or "none"
    return str(value)
