"""The ledger page: every claim in a row, folded by the paper's results; `ledger.js` filters it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import get_args
from urllib.parse import urlencode

from ntpcompanion.workflow.base.provenance import hardware_line
from ntpcompanion.workflow.chapters import cards
from ntpcompanion.workflow.claims.claims import BASES, KINDS, SCOPES, Claim, Verdict
from ntpcompanion.workflow.claims.formatting import mathematics
from ntpcompanion.workflow.results.references import Paper
from ntpcompanion.workflow.results.rows import Judged, Row, by_result, judgements, ledger_rows
from ntpcompanion.workflow.running.results import Result

VERDICTS = get_args(Verdict)
HEAD = (
    '<link rel="stylesheet" href="_static/ledger.css">'
    '<script src="_static/ledger.js" defer></script>'
)
SORTS = {
    "result": "paper result",
    "effect": "effect, misses first",
    "effect-down": "effect, clearest first",
    "locator": "locator",
}


def ledger_page(
    claims: Mapping[str, Claim],
    results: Mapping[str, Result],
    titles: Mapping[str, str],
    papers: Mapping[str, Paper],
    profile: str,
) -> str:
    """Counts, controls and the rows as one block of HTML.

    Parameters
    ----------
    claims, results
        what is claimed, and the stored runs by notebook.
    titles
        of chapters, by notebook.
    papers
        of the bibliography, by key.
    profile
        at which claims are judged.
    """
    judged = judgements(claims, results, profile)
    rows = ledger_rows(claims, results, profile)
    groups = by_result(rows)
    parts = [HEAD, _counts(rows), _machines(results), _controls(rows, titles, papers)]
    parts.append('<ul class="ntp-rows" id="ntp-flat" hidden></ul>')
    order = {row.id: place for place, row in enumerate(row for g in groups.values() for row in g)}
    for paper in dict.fromkeys(row.paper for row in rows):
        parts.append(f'<section class="ntp-paper">{_paper_head(paper, papers)}')
        for (owner, result), group in groups.items():
            if owner == paper:
                items = "".join(
                    _row(row, claims[row.id], judged[row.id], titles, order[row.id])
                    for row in group
                )
                parts.append(_group(result, group, items))
        parts.append("</section>")
    count = f"**{len(claims)} claims** at profile *{profile}*:"
    body = "\n".join(parts)
    return f'{count}\n\n````{{raw}} html\n<div class="ntp-ledger">\n{body}\n</div>\n````\n'


def _paper_head(key: str, papers: Mapping[str, Paper]) -> str:
    paper = papers.get(key)
    name = f"{paper.name}: <cite>{mathematics(paper.title)}</cite>" if paper else escape(key)
    return f'<p class="ntp-paper-name">{name}</p>'


def _counts(rows: Sequence[Row]) -> str:
    """How many claims of each kind have each verdict; each number leads to its rows."""
    counts: Counter[tuple[str, str]] = Counter((row.kind, row.verdict) for row in rows)
    shown = [verdict for verdict in VERDICTS if any(row.verdict == verdict for row in rows)]
    head = "".join(f'<th scope="col">{verdict}</th>' for verdict in shown)
    lines = []
    for kind, words in KINDS.items():
        cells = "".join(_count(counts[kind, verdict], kind, verdict) for verdict in shown)
        link = _view(f"{words} <em>({kind})</em>", kind=kind)
        lines.append(f'<tr><th scope="row">{link}</th>{cells}</tr>')
    return (
        '<div class="ntp-scroll" tabindex="0" role="region" aria-label="Counts of claims">'
        f'<table class="ntp-counts"><thead><tr><th scope="col">Whose claim</th>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _count(count: int, kind: str, verdict: str) -> str:
    return f"<td>{_view(str(count), kind=kind, verdict=verdict) if count else 0}</td>"


def _view(text: str, **chosen: str) -> str:
    """A link to the rows that a filter leaves; without scripts the address does nothing."""
    return f'<a class="ntp-view" href="#{escape(urlencode(chosen))}">{text}</a>'


def _machines(results: Mapping[str, Result]) -> str:
    made: dict[str, list[str]] = {}
    for result in results.values():
        made.setdefault(hardware_line(result.hardware), []).append(result.started[:10])
    lines = [
        f"{escape(machine)} ({min(dates)}{f' to {max(dates)}' if max(dates) > min(dates) else ''})"
        for machine, dates in made.items()
    ]
    sentence = f"Measured on {'; '.join(lines)}, " if lines else "Nothing was measured yet, "
    more = 'recorded runs on the machines that <a href="status.html">the status page</a> names.'
    return f'<p class="ntp-machines">{sentence}{more}</p>'


def _controls(rows: Sequence[Row], titles: Mapping[str, str], papers: Mapping[str, Paper]) -> str:
    """The form of the filters: a script shows it, and works it."""
    names = {
        row.paper: papers[row.paper].name if row.paper in papers else row.paper for row in rows
    }
    choices = {
        "paper": ("Paper", names),
        "chapter": ("Chapter", {row.chapter: titles.get(row.chapter, row.chapter) for row in rows}),
        "kind": ("Whose", KINDS),
        "scope": ("Setting", SCOPES),
        "verdict": ("Verdict", {v: v for v in VERDICTS if any(r.verdict == v for r in rows)}),
        "basis": ("Read from", BASES),
    }
    search = '<input type="search" name="text" autocomplete="off">'
    fields = [f'<label class="ntp-search">Search {search}</label>']
    fields += [
        _select(name, label, {"": "all", **options}) for name, (label, options) in choices.items()
    ]
    fields.append(_select("sort", "Sort by", SORTS))
    buttons = (
        '<button type="reset">Clear</button> '
        '<button type="button" name="unfold" aria-pressed="false">Open all</button>'
    )
    return (
        '<form class="ntp-filters" id="ntp-filters" role="search" aria-label="Filter the claims" '
        f'hidden>{"".join(fields)}<p>{buttons} <output role="status" aria-live="polite"></output>'
        "</p></form>"
    )


def _select(name: str, label: str, options: Mapping[str, str]) -> str:
    inner = "".join(
        f'<option value="{escape(value)}">{escape(words)}</option>'
        for value, words in options.items()
    )
    return f'<label>{label} <select name="{name}">{inner}</select></label>'


def _group(result: str, rows: Sequence[Row], items: str) -> str:
    return (
        f'<details class="ntp-group"><summary>{mathematics(result)} '
        f'<span class="ntp-tally">{_tally(rows)}</span></summary>'
        f'<ul class="ntp-rows">{items}</ul></details>'
    )


def _tally(rows: Sequence[Row]) -> str:
    return cards.tally(cards.told(row.verdict, row.kind) for row in rows)


def _row(row: Row, claim: Claim, judged: Judged, titles: Mapping[str, str], order: int) -> str:
    data = {
        "paper": row.paper, "chapter": row.chapter, "kind": row.kind, "scope": row.scope,
        "verdict": row.verdict, "basis": row.basis, "order": order,
        "effect": "" if row.effect is None else f"{row.effect:.6g}",
    }  # fmt: skip
    marks = "".join(f' data-{name}="{escape(str(value))}"' for name, value in data.items())
    anchor = row_anchor(row.id)
    chapter = mathematics(titles.get(row.chapter, row.chapter))
    where = (
        f'<a class="ntp-locator" href="{row.url}">{mathematics(row.locator)}</a> · {chapter} · '
        f'<a class="ntp-anchor" href="#{anchor}" aria-label="Link to {escape(row.id)}">'
        f"<code>{escape(row.id)}</code></a>"
    )
    return (
        f'<li class="ntp-row" id="{anchor}"{marks}>'
        f'<div class="ntp-row-verdict">{cards.badge(row.verdict, claim)}</div>'
        f'<div class="ntp-row-claim"><p>{mathematics(row.short)}</p>'
        f'<p class="ntp-where">{where}</p>'
        f"{_more(row)}</div>"
        f'<div class="ntp-row-numbers">{_numbers(row, judged)}</div></li>'
    )


def _more(row: Row) -> str:
    """What the first line leaves out, folded."""
    facts = {"In full": row.statement} if row.short != row.statement else {}
    facts |= {"Measured": row.measures, "Expected number from": row.source}
    details = {"Read from": BASES[row.basis], "Setting": SCOPES[row.scope]}
    lines = "".join(f"<dt>{name}</dt><dd>{mathematics(text)}</dd>" for name, text in facts.items())
    lines += "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in details.items())
    return f'<details class="ntp-more"><summary>more</summary><dl>{lines}</dl></details>'


def _numbers(row: Row, judged: Judged) -> str:
    judgement, measurement = judged
    ours = cards.shown(measurement, judgement) if measurement else "–"
    expected = row.expected or ("not judged" if row.verdict == "exploratory" else "–")
    facts = {row.quantity or "ours": f"<strong>{mathematics(ours)}</strong>"}
    facts["expected"] = mathematics(expected)
    if row.paper_value is not None:
        facts["paper"] = mathematics(str(row.paper_value))
    if row.records:
        facts["record"] = escape(", ".join(row.records))
    return "".join(
        f'<p><span class="ntp-label">{mathematics(name)}</span> {text}</p>'
        for name, text in facts.items()
    )


def row_anchor(claim_id: str) -> str:
    """The id of a claim's row: another one for each claim, as that of its card."""
    return cards.anchor(claim_id).replace("claim-", "row-", 1)
