"""A run with parameters of its own beside the book's: which parameters differ, and how far each
measured number has moved.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot

from ntpcompanion.workflow.claims.claims import Claim
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import JudgedClaim, judged_claims
from ntpcompanion.workflow.running.results import Result


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


@dataclass(frozen=True)
class Beside:
    """A run beside the book's, None if there is none, with `notes` on that in MyST."""

    ours: Result
    book: Result | None
    notes: list[str]
    claims: Mapping[str, Claim]

    @property
    def is_books(self) -> bool:
        """Whether it is the run that the book shows."""
        same = self.book is not None and self.ours.profile == self.book.profile
        return same and not self.differing

    @property
    def title(self) -> str:
        """What the page says of itself."""
        if self.is_books:
            return "This is the run that the book shows"
        profile = self.ours.profile
        other = "" if profile == "book" else f", but one with the profile {profile}"
        return f"This is not the book's run{other}"

    @property
    def differing(self) -> dict[str, tuple[object, object]]:
        """The parameters that differ, with both values."""
        there = self.book.parameters if self.book else self.ours.defaults
        return {
            name: (value, there.get(name))
            for name, value in self.ours.parameters.items()
            if value != there.get(name)
        }

    @property
    def rows(self) -> list[tuple[JudgedClaim, JudgedClaim, Moved]]:
        """The claims of the run, here and in the book, and how far each number has moved; judged by
        what is expected of the book.
        """
        ours = judged_claims(self.claims, self.ours.measurements, "book")
        there = judged_claims(self.claims, self.book.measurements if self.book else (), "book")
        return [
            (
                ours[item.claim],
                there[item.claim],
                moved(self.claims[item.claim], item, there[item.claim].measurement),
            )
            for item in self.ours.measurements
            if item.claim in self.claims
        ]
