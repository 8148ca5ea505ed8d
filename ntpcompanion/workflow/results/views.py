"""What the pages on results are made from; a subclass adds what its template shows besides."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import nbformat

from ntpcompanion.workflow.claims.verdict import JudgedClaim
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.results.references import Paper
from ntpcompanion.workflow.running.results import Result


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
        """The title of a chapter; the name of one that is not built."""
        return self.notebooks[notebook].title if notebook in self.notebooks else notebook
