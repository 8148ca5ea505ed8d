"""A claim as one quiet line of HTML that opens: made at build time, so that it always shows the present expectation."""

import re
from html import escape
from math import floor, log10

from ntpcompanion.workflow.claims import Claim, Judgement
from ntpcompanion.workflow.results import Result

LIST_SHOWN = 6


def card(claim: Claim, judgement: Judgement, measurement: dict, result: Result, hardware: str) -> str:
    """The card of a measured claim."""
    expected = judgement.expectation.describe() if judgement.expectation else f"nothing at profile {result.profile}"
    facts = [f"ours {show(measurement)}", f"expected {expected}"]
    if claim.paper_value is not None:
        facts.append(f"paper {claim.paper_value}")
    summary = f'{badge(judgement.verdict)} <span class="ntp-locator">{mathematics(claim.locator)}</span>'
    summary += f' <span class="ntp-facts">{mathematics(" · ".join(facts))}</span>'
    seed = "none: nothing random enters" if measurement["seed"] is None else str(measurement["seed"])
    rows = {
        "Claim": mathematics(claim.statement), "Measured": mathematics(claim.measures), "Expected number from": mathematics(claim.source),
        "Values": escape(show(measurement, shown=None)), "Expected verdict": claim.expected_verdict,
        "Parameters": escape(", ".join(f"{k} = {v!r}" for k, v in result.parameters.items())),
        "Seed": seed, "Made on": escape(hardware), "Id": f"<code>{escape(claim.id)}</code>",
    }  # fmt: skip
    body = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows.items())
    return f'<details class="ntp-card mathjax_process" id="{anchor(claim.id)}"><summary>{summary}</summary><dl>{body}</dl></details>'


def badge(verdict: str) -> str:
    """The verdict as text; the colour only repeats it."""
    return f'<span class="ntp-badge ntp-{verdict.replace(" ", "-")}">{verdict}</span>'


def anchor(claim_id: str) -> str:
    """The id of the card's element, which the ledger links to."""
    return "claim-" + claim_id.replace(".", "-")


def show(measurement: dict, shown: int | None = LIST_SHOWN) -> str:
    """The measured value with as many digits as its standard error allows; long lists are cut to `shown` values."""
    value, error = measurement["value"], measurement["stderr"]
    if not isinstance(value, list):
        return number(value, error)
    errors = error if isinstance(error, list) else [error] * len(value)
    texts = [number(v, e) for v, e in zip(value, errors, strict=True)]
    if shown is not None and len(texts) > shown:
        texts = [*texts[: shown - 1], "…", texts[-1]]
    return ", ".join(texts)


def number(value: float, error: float) -> str:
    """`0.1234 ± 0.0021`: two digits of the error and the value to the same place; four digits of an exact value."""
    if not error:
        if value == int(value) and abs(value) < 1e15:
            return f"{int(value)}"
        return f"{value:.4g}"
    places = max(0, 1 - floor(log10(error)))
    return f"{value:.2e} ± {error:.1e}" if places > 8 else f"{value:.{places}f} ± {error:.{places}f}"


def mathematics(text: str) -> str:
    r"""Escape a text for HTML, with `$...$` turned into `\(...\)` for MathJax."""
    parts = re.split(r"\$([^$]+)\$", text)
    return "".join(rf'<span class="mathjax_process">\({escape(p)}\)</span>' if i % 2 else escape(p) for i, p in enumerate(parts))
