"""The generated parts of the ledger and status pages, as MyST text."""

from collections import Counter
from collections.abc import Mapping

from ntpcompanion.workflow.base.files import canonical_json
from ntpcompanion.workflow.base.provenance import Hardware, hardware_line
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
    counts: Counter[tuple[str, str]] = Counter(
        (claim.kind, judged[claim.id][0].verdict) for claim in claims.values()
    )
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
    rows += [_run_row(notebook, results.get(name)) for name, notebook in notebooks.items()]
    parts = [f"Profile: *{profile}*.", _table([36, 20, 12, 16, 16], rows)]
    made: dict[str, list[str]] = {}  # the notebooks made on equal machines with equal versions
    for name, result in results.items():
        made.setdefault(canonical_json([result.hardware, result.versions]), []).append(name)
    for names in made.values():
        result = results[names[0]]
        titles = ", ".join(notebooks[name].title for name in names)
        rows = [["Library", "Version"], *(list(pair) for pair in result.versions.items())]
        parts += [f"Made on {_machine(result.hardware)}: {titles}", _table([50, 50], rows)]
    return "\n\n".join(parts) + "\n"


def _run_row(notebook: Notebook, result: Result | None) -> list[str]:
    link = f'<a href="chapters/{notebook.name}.html">{in_myst(notebook.title)}</a>'
    if result is None:
        return [link, "not run", "", "", ""]
    executed = result.started[:16].replace("T", " ")
    memory = f"{result.peak_memory / 2**20:.0f} MiB"
    return [link, executed, f"{result.seconds:.1f}", memory, f"`{result.key[:12]}`"]


def _machine(hardware: Hardware) -> str:
    system = f"{hardware['system']} {hardware['machine']}"
    return f"{hardware_line(hardware)}, {hardware['memory_gib']} GiB, {system}"


def _claim_row(
    claim: Claim, judgement: Judgement, measurement: Measurement | None, result: Result | None
) -> list[str]:
    anchor = f"#{cards.anchor(claim.id)}" if measurement else ""
    where = f"chapters/{claim.notebook}.html{anchor}"
    locator, statement = map(in_myst, (claim.locator, claim.statement))
    head = f'<a href="{where}">{locator}</a> {{cite:p}}`{claim.paper}`'
    expected = "not judged" if claim.exploratory else "–"
    if judgement.expectation:
        expected = judgement.expectation.describe()
    paper = f"<br>paper: {in_myst(str(claim.paper_value))}" if claim.paper_value is not None else ""
    return [
        cards.badge(judgement.verdict, claim),
        f"{head}. {statement}",
        _ours(judgement, measurement, result),
        in_myst(expected) + paper,
    ]


def _ours(judgement: Judgement, measurement: Measurement | None, result: Result | None) -> str:
    """The measured value, and where it was made."""
    if not measurement or not result:
        return "–"
    made = hardware_line(result.hardware)
    if measurement.records:
        made = f"record {', '.join(measurement.records)}"
    number = in_myst(cards.shown(measurement, judgement))
    return f"{number}<br><small>{result.profile}, {in_myst(made)}</small>"


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
