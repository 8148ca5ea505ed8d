"""A claim as one quiet line of HTML that opens, and the banner of a record: made at build time, so
that they always show the present expectation. What the book adds to the section "Run this yourself"
of a chapter: the command that repeats it, its parameters and its source.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import nbformat

from ntpcompanion.workflow.base.provenance import hardware_line
from ntpcompanion.workflow.claims.formatting import powers, show
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import JudgedClaim
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.notebooks.parameters import Parameter
from ntpcompanion.workflow.pages.templating import fill
from ntpcompanion.workflow.records.record import Record, first_of
from ntpcompanion.workflow.running.results import Result

HEADING = "## Run this yourself"
_HEADING = re.compile(rf"^{HEADING}[ \t]*$", re.MULTILINE)


@dataclass(frozen=True)
class Card:
    """A measured claim of a chapter, with the run and the records that its number comes from. A
    card of another page has no anchor, and leads to the `url` of the chapter's.
    """

    judged: JudgedClaim
    measurement: Measurement
    result: Result
    records: Sequence[Record] = ()
    url: str = ""

    @property
    def parameters(self) -> str:
        """Those of the records, else of the run."""
        of_records = [f"{record.name}: {_pairs(record.parameters)}" for record in self.records]
        return "; ".join(of_records) or _pairs(self.result.parameters)

    @property
    def made(self) -> str:
        """Where the records were made, else the machine of the run."""
        of_records = [f"record {record.name}, {record.made}" for record in self.records]
        return "; ".join(of_records) or hardware_line(self.result.hardware)

    @property
    def printed(self) -> str:
        value = self.judged.claim.paper_value
        return powers(f"{value:.12g}") if isinstance(value, float) else str(value)

    @property
    def expected(self) -> str:
        """What is expected at the profile, or why the number is not judged."""
        if expectation := self.judged.expectation:
            return powers(expectation.describe())
        why = self.judged.claim.exploratory
        return f"not judged: {why or f'nothing is expected at profile {self.judged.profile}'}"

    @property
    def values(self) -> str:
        return powers(show(self.measurement, shown=None))

    @property
    def randomness(self) -> str:
        """Whether chance enters, and with which seed."""
        item = self.measurement
        seed = [] if item.seed is None else [f"seed {item.seed}"]
        if not item.exact:
            replicates = f"{item.replicates} independent replicates"
            return ", ".join([replicates, "95 % interval of Student's t", *seed])
        if item.replicates:
            return ", ".join([f"equal in all {item.replicates} replicates", *seed])
        if seed:
            return f"exact for what {seed[0]} drew"
        return "no standard error" if item.records else "exact: nothing random enters"


@dataclass(frozen=True)
class Banner:
    """What is recorded, or that it no longer matches the code, with the first of the definitions
    that changed. It opens to tell when and where the record was made.
    """

    record: Record

    @property
    def changed(self) -> str:
        """What no longer matches; nothing if all does."""
        outdated = self.record.outdated
        return f"{first_of(outdated)} changed since" if outdated else ""


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in values.items())


@dataclass(frozen=True)
class Ending:
    """The end of a chapter, as its template shows it."""

    notebook: Notebook
    result: Result

    @property
    def command(self) -> str:
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
    ending = fill("ending.md", view)
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
