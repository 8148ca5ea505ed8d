"""A claim as one quiet line of HTML that opens, and the banner of a record: made at build time, so
that they always show the present expectation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ntpcompanion.workflow.base.provenance import hardware_line
from ntpcompanion.workflow.claims.formatting import powers, show
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import JudgedClaim
from ntpcompanion.workflow.records.record import Record, first_of
from ntpcompanion.workflow.running.results import Result


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
        """The paper's own value."""
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
        """All values."""
        return powers(show(self.measurement, shown=None))

    @property
    def randomness(self) -> str:
        """Whether chance enters, and with which seed."""
        item = self.measurement
        seed = [] if item.seed is None else [f"seed {item.seed}"]
        if not item.exact:
            replicates = f"{item.replicates} independent replicates"
            return ", ".join([replicates, "95 % interval of Student's t", *seed])
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
