"""A claim as one quiet line of HTML that opens: made at build time, so that it always shows the
present expectation.
"""

from collections.abc import Mapping, Sequence
from html import escape

from ntpcompanion.workflow.base.provenance import hardware_line
from ntpcompanion.workflow.claims.claims import BASES, KINDS, SCOPES, Claim, Judgement
from ntpcompanion.workflow.claims.formatting import mathematics, show
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.records.record import Record
from ntpcompanion.workflow.running.results import Result


def card(
    claim: Claim,
    judgement: Judgement,
    measurement: Measurement,
    result: Result,
    records: Sequence[Record] = (),
) -> str:
    """The card of a measured claim; `records` are those that its number was computed from."""
    facts = [f"ours {shown(measurement, judgement)}", expected(claim, judgement, result.profile)]
    if claim.paper_value is not None:
        facts.append(f"paper {claim.paper_value}")
    locator = f'<span class="ntp-locator">{mathematics(claim.locator)}</span>'
    summary = f"{badge(judgement.verdict, claim)} {locator}"
    summary += f' <span class="ntp-facts">{mathematics(" · ".join(facts))}</span>'
    rows = {
        "Claim": mathematics(claim.statement),
        "Whose": KINDS[claim.kind],
        "Read from": BASES[claim.basis],
        "Setting": SCOPES[claim.scope],
        "Measured": mathematics(claim.measures),
        "Expected number from": mathematics(claim.source),
        "Values": escape(show(measurement, shown=None)),
    }
    if claim.expect:
        rows["Expected verdict"] = claim.expected_verdict
    rows |= _origin(measurement, result, records)
    rows["Id"] = f"<code>{escape(claim.id)}</code>"
    body = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows.items())
    opening = f'<details class="ntp-card mathjax_process" id="{anchor(claim.id)}">'
    return f"{opening}<summary>{summary}</summary><dl>{body}</dl></details>"


def badge(verdict: str, claim: Claim) -> str:
    """The verdict as text, with whose claim it is and whether the setting is smaller; the colour
    only repeats it.
    """
    judged = verdict in ("supported", "refuted", "inconclusive")
    words = f"{verdict} at our scale" if judged and claim.scope == "smaller" else verdict
    shown = f'<span class="ntp-badge ntp-{verdict.replace(" ", "-")}">{words}</span>'
    return f'{shown} <span class="ntp-kind">{claim.kind}</span>'


def anchor(claim_id: str) -> str:
    """The id of the card's element, which the ledger links to: another one for each claim."""
    return "claim-" + claim_id.replace(".", "_")  # an id has no underscore of its own


def shown(measurement: Measurement, judgement: Judgement) -> str:
    """The value, with enough digits to tell it from what is expected."""
    return show(
        measurement, apart_from=judgement.expectation.bounds if judgement.expectation else ()
    )


def expected(claim: Claim, judgement: Judgement, profile: str) -> str:
    """What is expected at the profile, or why the number is not judged."""
    if judgement.expectation:
        return f"expected {judgement.expectation.describe()}"
    return f"not judged: {claim.exploratory or f'nothing is expected at profile {profile}'}"


def _origin(measurement: Measurement, result: Result, records: Sequence[Record]) -> dict[str, str]:
    """Parameters, randomness and machine: of the records that the number comes from, else of the
    notebook's run.
    """
    if records:
        parameters = "; ".join(f"{record.name}: {_pairs(record.parameters)}" for record in records)
        made = "; ".join(f"record {record.name}, {record.made}" for record in records)
    else:
        parameters, made = _pairs(result.parameters), hardware_line(result.hardware)
    return {
        "Parameters": escape(parameters),
        "Random": escape(_randomness(measurement)),
        "Made on": escape(made),
    }


def _randomness(measurement: Measurement) -> str:
    seed = [] if measurement.seed is None else [f"seed {measurement.seed}"]
    if not measurement.exact:
        return ", ".join(
            [
                f"{measurement.replicates} independent replicates, 95 % interval of Student's t",
                *seed,
            ]
        )
    if seed:
        return f"exact for what {seed[0]} drew"
    return "no standard error" if measurement.records else "exact: nothing random enters"


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in values.items())
