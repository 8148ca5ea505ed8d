"""The rows of the ledger as data: one claim each, with its number, verdict and origin."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ntpcompanion.workflow.chapters import cards
from ntpcompanion.workflow.claims.claims import Claim, Judgement, Verdict, judge
from ntpcompanion.workflow.claims.intervals import half_widths
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.running.results import Result

Judged = tuple[Judgement, Measurement | None]
# Results of a paper as readers look for them: statements first, then experiments, then text.
ORDER = (
    "Equation", "Definition", "Assumption", "Remark", "Proposition", "Lemma", "Fact", "Theorem",
    "Corollary", "Figure", "Table", "Section", "Footnote", "Appendix",
)  # fmt: skip
_ABBREVIATED = {"Fig.": "Figure", "Eq.": "Equation", "Sec.": "Section", "App.": "Appendix"}


class Row(BaseModel):
    """One claim with what was measured for it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(description="Stable name of the claim.")]
    paper: Annotated[str, Field(description="Key of the paper in references.bib.")]
    result: Annotated[str, Field(description="The paper's result that the claim is about.")]
    locator: Annotated[str, Field(description="Where in the paper, and which aspect.")]
    kind: Annotated[
        Literal["stated", "reading", "slip", "ours"],
        Field(
            description="Whose claim: stated by the paper; one reading of it; a printing error "
            "and its correction; a question of this book."
        ),
    ]
    basis: Annotated[
        Literal["text", "code", "abstract", "secondary", "derived"],
        Field(description="What the statement was read from."),
    ]
    scope: Annotated[
        Literal["same", "smaller", "text"],
        Field(description="Our setting: the paper's, a smaller one, or one text only."),
    ]
    short: Annotated[str, Field(description="The claim in plain words.")]
    statement: Annotated[str, Field(description="The claim in full; `$...$` is TeX.")]
    quantity: Annotated[str, Field(description="What the number is, with its unit.")]
    measures: Annotated[str, Field(description="How the number is measured.")]
    source: Annotated[str, Field(description="Where the expected number comes from.")]
    chapter: Annotated[str, Field(description="Name of the notebook that measures it.")]
    url: Annotated[str, Field(description="Page and card, relative to the root of the site.")]
    profile: Annotated[str, Field(description="The parameters it was run with.")]
    verdict: Annotated[Verdict, Field(description="Computed from value, error and expectation.")]
    expected: Annotated[str | None, Field(description="What is expected; null: not judged.")]
    expected_verdict: Annotated[
        Literal["supported", "refuted", "inconclusive"] | None,
        Field(description="The verdict that the authors of the book expect; null: none."),
    ]
    paper_value: Annotated[float | str | None, Field(description="What the paper prints.")]
    values: Annotated[list[float], Field(description="The measured numbers; empty: none.")]
    stderrs: Annotated[list[float], Field(description="Standard error of each; 0: exact.")]
    low: Annotated[list[float], Field(description="Lower ends of the 95 % intervals.")]
    high: Annotated[list[float], Field(description="Upper ends of the 95 % intervals.")]
    replicates: Annotated[
        int | None, Field(description="Independent replicates behind the standard errors.")
    ]
    seed: Annotated[int | None, Field(description="Seed of what was drawn.")]
    effect: Annotated[
        float | None,
        Field(
            description="Distance of one number from the edge of what is expected, in units of "
            "the expected number or of its tolerance; negative outside. Null: several numbers, "
            "or no such unit."
        ),
    ]
    records: Annotated[list[str], Field(description="Recorded runs that the number comes from.")]


def judgements(
    claims: Mapping[str, Claim], results: Mapping[str, Result], profile: str
) -> dict[str, Judged]:
    """Verdict and measurement of every claim at a profile."""
    measured = {item.claim: item for result in results.values() for item in result.measurements}
    return {
        name: (judge(claim, profile, measured.get(name)), measured.get(name))
        for name, claim in claims.items()
    }


def ledger_rows(
    claims: Mapping[str, Claim], results: Mapping[str, Result], profile: str
) -> list[Row]:
    """A row for each claim, in the order of the claims file."""
    judged = judgements(claims, results, profile)
    return [_row(claim, *judged[claim.id], profile) for claim in claims.values()]


def card_url(claim: Claim, measured: bool) -> str:
    """Where the site shows a claim: its card, or its chapter where nothing was measured."""
    return f"chapters/{claim.notebook}.html" + (f"#{cards.anchor(claim.id)}" if measured else "")


def paper_result(locator: str) -> str:
    """The result of a paper that a locator begins with: `about Fig. 3, trace` → `Figure 3`."""
    head = re.split(r"[,:;]| and | \(", locator.removeprefix("about "))[0].strip()
    numbered = re.match(r"Equation \((\d+)\)", locator.removeprefix("about "))
    if numbered:
        head = f"Equation {numbered[1]}"
    word, _, rest = head.partition(" ")
    word = _ABBREVIATED.get(word, word)
    if word.endswith("s") and word[:-1] in ORDER:  # `Equations 4 and 6`, `Figures 3 to 5`
        word, rest = word[:-1], rest.split(" ")[0]
    return f"{word} {rest}".strip()


def result_order(result: str) -> tuple[int, list[tuple[bool, int, str]]]:
    """A key that sorts results by sort of statement, then by number: Lemma 2 before Lemma 10, and
    that before Lemma D.1 of an appendix.
    """
    word, _, rest = result.partition(" ")
    place = ORDER.index(word) if word in ORDER else len(ORDER)
    parts = re.findall(r"(\d+)|([^\d\W]+)", rest if word in ORDER else result)
    return place, [(not number, int(number or 0), text) for number, text in parts]


def _row(claim: Claim, judgement: Judgement, measurement: Measurement | None, profile: str) -> Row:
    item, expectation = measurement, judgement.expectation
    widths = half_widths(item) if item else ()
    values, errors = (item.values, item.errors) if item else ((), ())
    return Row(
        id=claim.id,
        paper=claim.paper,
        result=paper_result(claim.locator),
        locator=claim.locator,
        kind=claim.kind,
        basis=claim.basis,
        scope=claim.scope,
        short=claim.short or claim.statement,
        statement=claim.statement,
        quantity=claim.quantity or "",
        measures=claim.measures,
        source=claim.source,
        chapter=claim.notebook,
        url=card_url(claim, item is not None),
        profile=profile,
        verdict=judgement.verdict,
        expected=expectation.describe() if expectation else None,
        expected_verdict=claim.expected_verdict if expectation else None,
        paper_value=claim.paper_value,
        values=list(values),
        stderrs=list(errors),
        low=[value - width for value, width in zip(values, widths, strict=True)],
        high=[value + width for value, width in zip(values, widths, strict=True)],
        replicates=item.replicates if item else None,
        seed=item.seed if item else None,
        effect=_effect(judgement, values, widths),
        records=list(item.records) if item else [],
    )


def _effect(judgement: Judgement, values: Sequence[float], widths: Sequence[float]) -> float | None:
    expectation = judgement.expectation
    if expectation is None or len(values) != 1:
        return None
    # of an interval, the nearer edge counts
    smallest = min(slack.value for slack in expectation.slack(tuple(values), tuple(widths)))
    unit = getattr(expectation, "within", None) or max(map(abs, expectation.bounds), default=0.0)
    return smallest / unit if unit else None


def by_result(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Rows by paper and result: papers as they come, results in the order of `result_order`."""
    papers = list(dict.fromkeys(row.paper for row in rows))
    keys = {(row.paper, row.result) for row in rows}
    ordered = sorted(keys, key=lambda key: (papers.index(key[0]), result_order(key[1])))
    return {key: [row for row in rows if (row.paper, row.result) == key] for key in ordered}
