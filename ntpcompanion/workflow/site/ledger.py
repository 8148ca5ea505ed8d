"""The generated parts of the ledger and status pages, as MyST text."""

from collections import Counter
from collections.abc import Mapping

from ntpcompanion.workflow.base.files import canonical_json
from ntpcompanion.workflow.base.provenance import hardware_line
from ntpcompanion.workflow.claims.claims import KINDS, Claim, Judgement, judge
from ntpcompanion.workflow.claims.formatting import in_myst
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.notebooks.notebook import Notebook
from ntpcompanion.workflow.running.results import Result
from ntpcompanion.workflow.site import cards

VERDICTS = ("supported", "refuted", "inconclusive", "exploratory", "not measured")


def judgements(
    claims: Mapping[str, Claim], results: Mapping[str, Result], profile: str
) -> dict[str, tuple[Judgement, Measurement | None]]:
    """Verdict and measurement of every claim at a profile."""
    measured = {item.claim: item for result in results.values() for item in result.measurements}
    return {
        name: (judge(claim, profile, measured.get(name)), measured.get(name))
        for name, claim in claims.items()
    }


def ledger_page(
    claims: Mapping[str, Claim],
    results: Mapping[str, Result],
    notebooks: Mapping[str, Notebook],
    profile: str,
) -> str:
    """Counts per kind of claim, then a table of claims per chapter."""
    judged = judgements(claims, results, profile)
    parts = [f"**{len(claims)} claims** at profile *{profile}*:", _counts(claims, judged)]
    for name, notebook in notebooks.items():
        own = [claim for claim in claims.values() if claim.notebook == name]
        if own:
            parts += [
                f"## {in_myst(notebook.title)}",
                _table(
                    [20, 46, 17, 17],
                    [
                        ["Verdict", "Claim", "Ours", "Expected"],
                        *(_claim_row(c, *judged[c.id], results.get(name)) for c in own),
                    ],
                ),
            ]
    return "\n\n".join(parts) + "\n"


def _counts(
    claims: Mapping[str, Claim], judged: Mapping[str, tuple[Judgement, Measurement | None]]
) -> str:
    counts = Counter((claim.kind, judged[claim.id][0].verdict) for claim in claims.values())
    shown = [verdict for verdict in VERDICTS if any(counts[kind, verdict] for kind in KINDS)]
    rows = [
        [f"{words} (*{kind}*)", *(str(counts[kind, verdict]) for verdict in shown)]
        for kind, words in KINDS.items()
    ]
    width = 64 // max(1, len(shown))
    return _table(
        [100 - width * len(shown), *[width] * len(shown)], [["Whose claim", *shown], *rows]
    )


def status_page(
    results: Mapping[str, Result], notebooks: Mapping[str, Notebook], profile: str
) -> str:
    """A table of runs, then each machine and set of versions they were made with."""
    rows = [["Notebook", "Executed (UTC)", "Seconds", "Peak memory", "Key"]]
    for name, notebook in notebooks.items():
        result = results.get(name)
        link = f'<a href="chapters/{name}.html">{in_myst(notebook.title)}</a>'
        ran = (
            [
                result.started[:16].replace("T", " "),
                f"{result.seconds:.1f}",
                f"{result.peak_memory / 2**20:.0f} MiB",
                f"`{result.key[:12]}`",
            ]
            if result
            else ["not run", "", "", ""]
        )
        rows.append([link, *ran])
    parts = [f"Profile: *{profile}*.", _table([36, 20, 12, 16, 16], rows)]
    for machine, versions in {
        canonical_json([r.hardware, r.versions]): (r.hardware, r.versions) for r in results.values()
    }.values():
        made = [
            notebooks[name].title
            for name, r in results.items()
            if (r.hardware, r.versions) == (machine, versions)
        ]
        where = (
            f"{hardware_line(machine)}, {machine['memory_gib']} GiB, {machine['system']} "
            f"{machine['machine']}"
        )
        rows = [["Library", "Version"], *(list(pair) for pair in versions.items())]
        parts += [f"Made on {where}: {', '.join(made)}", _table([50, 50], rows)]
    return "\n\n".join(parts) + "\n"


def _claim_row(
    claim: Claim, judgement: Judgement, measurement: Measurement | None, result: Result | None
) -> list[str]:
    where = f"chapters/{claim.notebook}.html" + (
        f"#{cards.anchor(claim.id)}" if measurement else ""
    )
    locator, statement = map(in_myst, (claim.locator, claim.statement))
    head = f'<a href="{where}">{locator}</a> {{cite:p}}`{claim.paper}`'
    ours = "–"
    if measurement and result:
        made = (
            f"record {', '.join(measurement.records)}"
            if measurement.records
            else hardware_line(result.hardware)
        )
        ours = (
            f"{in_myst(cards.shown(measurement, judgement))}<br><small>{result.profile}, "
            f"{in_myst(made)}</small>"
        )
    expected = (
        judgement.expectation.describe()
        if judgement.expectation
        else "not judged"
        if claim.exploratory
        else "–"
    )
    paper = f"<br>paper: {in_myst(str(claim.paper_value))}" if claim.paper_value is not None else ""
    return [
        cards.badge(judgement.verdict, claim),
        f"{head}. {statement}",
        ours,
        in_myst(expected) + paper,
    ]


def _table(widths: list[int], rows: list[list[str]]) -> str:
    lines = [
        "::::{div} ntp-scroll",
        ":::{list-table}",
        ":header-rows: 1",
        f":widths: {' '.join(map(str, widths))}",
        "",
    ]
    for row in rows:
        lines += [f"{'* -' if i == 0 else '  -'} {_inline(cell)}" for i, cell in enumerate(row)]
    return "\n".join([*lines, ":::", "::::"])


def _inline(text: str) -> str:
    """One line of MyST that starts no quotation, list or heading, whatever its first character: `>
    0` is a predicate.
    """
    line = " ".join(text.split())
    return "\\" + line if line[:1] in tuple(">-+=#*") else line
