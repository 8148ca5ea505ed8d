"""A run with parameters of its own beside the book's: which parameters differ, and how far each
measured number has moved.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from math import hypot

from ntpcompanion.workflow.chapters import cards
from ntpcompanion.workflow.claims.claims import Claim, judge
from ntpcompanion.workflow.claims.formatting import mathematics
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.results.list_tables import list_table
from ntpcompanion.workflow.running.results import Result

EXPECTED_OF = "expectation is for the book's parameters"


@dataclass(frozen=True)
class Moved:
    """How far a number lies from the book's: `by` of `unit`, the largest where there are several;
    None where the two cannot be compared.
    """

    by: float | None
    unit: str

    def __str__(self) -> str:
        if self.by is None:
            return self.unit
        if not self.by:
            return "equal"
        unit = self.unit if f"{self.by:.2g}" == "1" else f"{self.unit}s"
        return f"{self.by:.2g} {unit}"


def moved(claim: Claim, ours: Measurement, book: Measurement | None) -> Moved:
    """The distance between a number of this run and the book's.

    In joint standard errors where one of the two is random; else in bands, the width that the
    claim allows for rounding; without a band, in units of the number.
    """
    if book is None:
        return Moved(None, "not in the book's run")
    if len(ours.values) != len(book.values):
        return Moved(None, f"{len(ours.values)} values, the book has {len(book.values)}")
    distances = [abs(a - b) for a, b in zip(ours.values, book.values, strict=True)]
    errors = [hypot(s, t) for s, t in zip(ours.errors, book.errors, strict=True)]
    widths = [claim.band.width(value) for value in book.values]
    for units, unit in ((errors, "standard error"), (widths, "band")):
        if all(units):
            shares = [far / one for far, one in zip(distances, units, strict=True)]
            return Moved(max(shares), unit)
    return Moved(max(distances), "unit")


def banner(ours: Result, book: Result | None, notes: list[str]) -> str:
    """What a view says of itself below its title, as MyST."""
    differ = _differing(ours, book)
    if book is not None and not differ and ours.profile == book.profile:
        kind, title = "note", "This is the run that the book shows"
    else:
        profile = "" if ours.profile == "book" else f", but one with the profile {ours.profile}"
        kind, title = "warning", f"This is not the book's run{profile}"
    lines = [f"::::{{admonition}} {title}", f":class: {kind}", "", *notes]
    if differ:
        head = ("Parameter", "Here", "In the book")
        rows = [
            [f"`{n}`", f"`{our_value!r}`", f"`{book_value!r}`"]
            for n, (our_value, book_value) in differ.items()
        ]
        lines += ["", list_table([head, *rows])]
    lines += ["", "Figures and statements are counted from 1 on this page.", "::::"]
    return "\n".join(lines)


def _differing(ours: Result, book: Result | None) -> dict[str, tuple[object, object]]:
    there = book.parameters if book else ours.defaults
    return {
        name: (value, there.get(name))
        for name, value in ours.parameters.items()
        if value != there.get(name)
    }


def comparison(ours: Result, book: Result | None, claims: Mapping[str, Claim]) -> str:
    """The claims of a run as a table of HTML: this run, the book, how far it moved, the verdict."""
    theirs = {item.claim: item for item in book.measurements} if book else {}
    rows = "".join(
        _row(claims[item.claim], item, theirs.get(item.claim))
        for item in ours.measurements
        if item.claim in claims
    )
    if not rows:
        return ""
    heads = ("Claim", "In this run", "In the book", "Moved by", f"Verdict here ({EXPECTED_OF})")
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="ntp-scroll mathjax_process" tabindex="0">{table}</div>'


def _row(claim: Claim, ours: Measurement, book: Measurement | None) -> str:
    judgement = judge(claim, "book", ours)
    book_judgement = judge(claim, "book", book)
    shown = mathematics(cards.shown(book, book_judgement)) if book else "–"
    was = (
        f" (in the book: {book_judgement.verdict})"
        if book and book_judgement.verdict != judgement.verdict
        else ""
    )
    link = f'<a href="#{cards.anchor(claim.id)}">{mathematics(claim.short or claim.statement)}</a>'
    cells = (
        mathematics(cards.shown(ours, judgement)),
        shown,
        escape(str(moved(claim, ours, book))),
        cards.badge(judgement.verdict, claim) + was,
    )
    return f'<tr><th scope="row">{link}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
