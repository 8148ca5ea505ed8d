"""The ledger page: every claim in a row, folded by the paper's results; `ledger.js` filters it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from ntpcompanion.workflow.base.provenance import hardware_line
from ntpcompanion.workflow.claims.claims import BASES, KINDS, SCOPES
from ntpcompanion.workflow.claims.locators import result_order
from ntpcompanion.workflow.claims.verdict import VERDICTS, JudgedClaim
from ntpcompanion.workflow.results.references import Paper
from ntpcompanion.workflow.running.results import Result

SORTS = {
    "result": "paper result",
    "effect": "effect, misses first",
    "effect-down": "effect, clearest first",
    "locator": "locator",
}


@dataclass(frozen=True)
class Ledger:
    """Counts, controls and rows of all claims.

    Parameters
    ----------
    judged
        the claims by id.
    results
        the stored runs, by notebook.
    titles
        of chapters, by notebook.
    names
        of the papers, by key.
    profile
        at which claims are judged.
    """

    judged: Mapping[str, JudgedClaim]
    results: Mapping[str, Result]
    titles: Mapping[str, str]
    names: Mapping[str, Paper]
    profile: str

    @property
    def verdicts(self) -> list[str]:
        """Those that a claim has."""
        return [each for each in VERDICTS if any(r.verdict == each for r in self.judged.values())]

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """How many claims of each kind have each verdict."""
        return Counter((one.claim.kind, one.verdict) for one in self.judged.values())

    @property
    def machines(self) -> str:
        """The beginning of a sentence on where and when it was measured."""
        made: dict[str, list[str]] = {}
        for result in self.results.values():
            made.setdefault(hardware_line(result.hardware), []).append(result.started[:10])
        lines = [
            f"{machine} ({' to '.join(sorted({min(dates), max(dates)}))})"
            for machine, dates in made.items()
        ]
        return f"Measured on {'; '.join(lines)}, " if lines else "Nothing was measured yet, "

    @property
    def selects(self) -> list[tuple[str, str, dict[str, str]]]:
        """Name, label and options of the filters, and of the order."""
        claims = [one.claim for one in self.judged.values()]
        papers = {c.paper: self.names[c.paper].name for c in claims if c.paper in self.names}
        chapters = {c.notebook: self.titles.get(c.notebook, c.notebook) for c in claims}
        choices = [
            ("paper", "Paper", {c.paper: papers.get(c.paper, c.paper) for c in claims}),
            ("chapter", "Chapter", chapters),
            ("kind", "Whose", KINDS),
            ("scope", "Setting", SCOPES),
            ("verdict", "Verdict", {verdict: verdict for verdict in self.verdicts}),
            ("basis", "Read from", BASES),
        ]
        filters = [(name, label, {"": "all", **options}) for name, label, options in choices]
        return [*filters, ("sort", "Sort by", SORTS)]

    @property
    def papers(self) -> dict[str, dict[str, list[JudgedClaim]]]:
        """The claims by paper and result: papers as they come, results in their order."""
        papers: dict[str, dict[str, list[JudgedClaim]]] = {}
        for one in self.judged.values():
            results = papers.setdefault(one.claim.paper, {})
            results.setdefault(one.claim.result, []).append(one)
        return {
            paper: {result: results[result] for result in sorted(results, key=result_order)}
            for paper, results in papers.items()
        }

    @property
    def order(self) -> dict[str, int]:
        """The place of each claim on the page."""
        groups = [rows for results in self.papers.values() for rows in results.values()]
        return {one.claim.id: place for place, one in enumerate(chain.from_iterable(groups))}
