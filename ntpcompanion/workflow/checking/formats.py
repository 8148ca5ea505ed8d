"""The report of a check as hosts of repositories read it: annotations and Markdown."""

import re

from ntpcompanion.workflow.checking.check_report import Number, Report, Reported
from ntpcompanion.workflow.claims.formatting import number

LIST_SHOWN = 3  # values of a claim about several
_LEVELS = {"borderline": "warning", "not compared": "notice"}


def annotations(report: Report, folder: str = "") -> list[str]:
    """Workflow commands of GitHub, one for each finding, that mark the line of its `measure` call.

    `folder` is where the project lies in its repository. GitHub shows ten errors and ten warnings
    of a step; the summary has them all.
    """
    if report.error is not None:
        return [f"::error title=ntpcompanion check::{_data(report.error)}"]
    return [_annotation(finding, report.profile, folder) for finding in report.findings]


def _annotation(finding: Reported, profile: str, folder: str) -> str:
    level = _LEVELS.get(finding.kind, "error")
    title = f"{finding.claim or finding.notebook}: {finding.kind} at profile {profile}"
    file = f"{folder}/{finding.file}" if folder else finding.file
    place = f"file={_property(file)},line={finding.line},title={_property(title)}"
    message = f"{finding.text}\n{finding.advice}".rstrip()
    return f"::{level} {place}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def markdown(report: Report) -> str:
    """A few lines for the summary of a job or a pull request: how many claims agree, and a table of
    the claims that do not.
    """
    title = f"### Claims, profile {report.profile}\n\n"
    if report.error is not None:
        return f"{title}Nothing could be compared: {_cell(report.error)}\n"
    lines = [title + headline(report)]
    faults: dict[str, list[Reported]] = {}
    for fault in report.faults:
        faults.setdefault(fault.claim or f"{fault.notebook} {fault.text}", []).append(fault)
    rows = [_row(report, group) for group in faults.values()]
    if rows:
        head = "| Claim | Baseline | Now | Verdict | What is wrong |\n|---|---|---|---|---|"
        lines += ["", head, *rows, *(f"\n{text}" for text in report.advice)]
    if report.notes:
        lines += ["", *(f"- {_cell(finding.text)}" for finding in report.notes)]
    return "\n".join(lines) + "\n"


def headline(report: Report) -> str:
    """`244 claims agree; 0 moved`: those measured without a fault, and those with one."""
    wrong = {finding.claim or finding.notebook for finding in report.faults}
    moved = {f.claim for f in report.faults if f.kind == "moved"}
    agree = sum(claim.measured is not None and claim.id not in wrong for claim in report.claims)
    other = len(wrong - moved)
    text = f"{agree} claim{' agrees' if agree == 1 else 's agree'}; {len(moved)} moved"
    return f"{text}; {other} with another fault." if other else f"{text}."


def _row(report: Report, faults: list[Reported]) -> str:
    """The row of a claim, or of one fault that concerns none."""
    first = faults[0]
    text = "<br>".join(_cell(fault.text.removeprefix(f"{fault.claim}: ")) for fault in faults)
    name = f"`{first.claim or first.notebook}`<br>{first.file}:{first.line}"
    claim = next((claim for claim in report.claims if claim.id == first.claim), None)
    if claim is None:
        return f"| {name} | | | | {text} |"
    name += f"<br>{_cell(claim.short)}" if claim.short else ""
    other = any(fault.kind == "verdict" for fault in faults)
    expected = f", expected {claim.expected_verdict}" if other else ""
    before, now = claim.baseline, claim.measured
    numbers = f"{_shown(before, now)} | {_shown(now, before)}"
    return f"| {name} | {numbers} | {claim.verdict}{expected} | {text} |"


def _shown(item: Number | None, other: Number | None) -> str:
    """The values, each with the digits that tell it from its counterpart."""
    if item is None:
        return "–"
    others = other.values if other and len(other.values) == len(item.values) else item.values
    texts = [
        number(v, e) if v == o or e or number(v, e) != number(o, e) else f"{v:.10g}"
        for v, e, o in zip(item.values, item.stderrs, others, strict=True)
    ]
    if len(texts) > LIST_SHOWN:
        texts = [*texts[: LIST_SHOWN - 1], "…", texts[-1]]
    return ", ".join(texts)


def _cell(text: str) -> str:
    """A text in one cell of a table: nothing in it is taken for markup."""
    marked = re.sub(r"([\\`*_{}\[\]<>|#~$@])", r"\\\1", text)
    return "<br>".join(marked.split("\n"))
