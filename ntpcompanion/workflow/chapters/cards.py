"""A claim as one quiet line of HTML that opens: made at build time, so that it always shows the
present expectation.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import get_args

from ntpcompanion.workflow.base.provenance import hardware_line
from ntpcompanion.workflow.chapters.citation import Chapter, claim_entry
from ntpcompanion.workflow.claims.claims import BASES, KINDS, SCOPES, Claim, Judgement, Verdict
from ntpcompanion.workflow.claims.formatting import mathematics, powers, show
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.records.record import Record
from ntpcompanion.workflow.running.results import Result

# What is added to a verdict that says nothing about the paper's own setting.
REACHES = {"smaller": "at our scale", "text": "on the default text"}


def card(
    claim: Claim,
    judgement: Judgement,
    measurement: Measurement,
    result: Result,
    chapter: Chapter,
    records: Sequence[Record] = (),
) -> str:
    """The card of a measured claim of a chapter; `records` are those that its number was computed
    from.
    """
    rows = {"Claim": mathematics(claim.statement)}
    if claim.why:
        rows["Why"] = mathematics(claim.why)
    rows |= {
        "Whose": f"{KINDS[claim.kind]}, {mathematics(claim.locator)}",
        "Read from": BASES[claim.basis],
        "Setting": SCOPES[claim.scope],
        "Measured": mathematics(claim.measures),
        "Expected": mathematics(expected(claim, judgement, result.profile)),
    }
    if judgement.expectation and claim.expected_verdict != "supported":
        rows["Expected verdict"] = claim.expected_verdict
    rows["Expected number from"] = mathematics(claim.source)
    rows["Values"] = escape(powers(show(measurement, shown=None)))
    rows |= _origin(measurement, result, records)
    rows["Id"] = f'<a href="#{anchor(claim.id)}"><code>{escape(claim.id)}</code></a>'
    number = f"{claim.quantity or 'measured'} = {shown(measurement, judgement)}"
    entry = claim_entry(chapter, claim, f"{judgement.verdict}: {number}")
    rows["Cite"] = f'<pre class="ntp-cite"><code>{escape(entry)}</code></pre>'
    body = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows.items())
    opening = f'<details class="ntp-card mathjax_process" id="{anchor(claim.id)}">'
    first = first_line(claim, judgement, measurement)
    return f"{opening}<summary>{first}</summary><dl>{body}</dl></details>"


def first_line(claim: Claim, judgement: Judgement, measurement: Measurement) -> str:
    """Verdict, the claim in words, ours beside the paper's number, and whose claim it is."""
    quantity = mathematics(claim.quantity or "measured")
    number = mathematics(shown(measurement, judgement))
    facts = f'{quantity} = <strong class="ntp-number">{number}</strong>'
    if (paper := claim.paper_value) is not None:
        printed = mathematics(paper) if isinstance(paper, str) else powers(f"{paper:.12g}")
        facts += f' <span class="ntp-paper">(paper: {printed})</span>'
    return (
        f"{verdict_badge(judgement.verdict, claim)} "
        f'<span class="ntp-short">{mathematics(claim.short or claim.statement)}</span> '
        f'<span class="ntp-facts">{facts}</span> '
        f'<span class="ntp-whose">{whose(claim)}</span>'
    )


def whose(claim: Claim) -> str:
    """Whose claim it is, with its place in the paper: `stated · Theorem 1 of the paper`.

    What a locator says behind its first comma tells claims about one place apart; `short` does so
    on a card.
    """
    kind = f'<span class="ntp-kind" title="{KINDS[claim.kind]}">{claim.kind}</span>'
    place = mathematics(claim.locator.partition(",")[0])
    return f'{kind} · <span class="ntp-locator">{place} of the paper</span>'


def badge(verdict: str, claim: Claim) -> str:
    """The verdict with whose claim it is."""
    return f'{verdict_badge(verdict, claim)} <span class="ntp-kind">{claim.kind}</span>'


def verdict_badge(verdict: str, claim: Claim) -> str:
    """The verdict as text, and how far it reaches; the colour only repeats it."""
    judged = verdict in ("supported", "refuted", "inconclusive")
    words = f"{verdict} {REACHES[claim.scope]}" if judged and claim.scope in REACHES else verdict
    return f'<span class="ntp-badge ntp-{verdict.replace(" ", "-")}">{words}</span>'


def told(verdict: str, kind: str) -> str:
    """The verdict in a count: a refutation is not told without whose claim it is."""
    return f"{verdict} ({kind})" if verdict == "refuted" else verdict


def tally(words: Iterable[str]) -> str:
    """`3 supported, 1 refuted (slip)`: how often each verdict was `told`, in the order of
    `Verdict`.
    """
    counts, order = Counter(words), get_args(Verdict)
    ordered = sorted(counts, key=lambda words: order.index(words.partition(" (")[0]))
    return ", ".join(f"{counts[words]} {words}" for words in ordered)


def anchor(claim_id: str) -> str:
    """The id of the card's element, which the ledger links to: another one for each claim."""
    return "claim-" + claim_id.replace(".", "_")  # an id has no underscore of its own


def shown(measurement: Measurement, judgement: Judgement) -> str:
    """The value, with enough digits to tell it from what is expected."""
    others = judgement.expectation.bounds if judgement.expectation else ()
    return powers(show(measurement, apart_from=others))


def expected(claim: Claim, judgement: Judgement, profile: str) -> str:
    """What is expected at the profile, or why the number is not judged."""
    if judgement.expectation:
        return powers(judgement.expectation.describe())
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
        "Random": escape(_randomness(measurement)),
        "Parameters": escape(parameters),
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
