"""Notebook regression: measured values against those stored in `tests/baselines`, verdicts against
those expected.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import hypot
from pathlib import Path
from typing import Literal

from ntpcompanion.spelling import nearest
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256, write_atomically
from ntpcompanion.workflow.claims.claims import Claim
from ntpcompanion.workflow.claims.formatting import show
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import JudgedClaim, judge
from ntpcompanion.workflow.running.layout import RECORD
from ntpcompanion.workflow.running.results import Result

NO_INPUT = "-"
Baselines = Mapping[str, Mapping[str, Measurement]]  # by the key of the input, by claim
Entries = dict[str, dict[str, Measurement]]  # the same, to be written


def input_key(result: Result) -> str:
    """`NO_INPUT` for a notebook without inputs, else one hash of them all: the value of a claim
    depends on the text it was measured on.
    """
    inputs = result.key_parts["inputs"]
    return sha256(canonical_json(inputs)) if inputs else NO_INPUT


def updated(
    stored: Baselines, results: Mapping[str, Result], claims: Mapping[str, Claim] | None = None
) -> Entries:
    """The baselines with the present values put in; those of other texts and of notebooks that were
    not run are kept, those of records that were made anew are dropped, and so are those that are
    not among `claims` or that their notebooks do not measure any more (None: all are kept).

    A text may differ between versions of Python, so values of another text stay. Records are the
    same for everybody: of a notebook that reads no text, only the present values are kept.
    """
    new = {key: {c: v[c] for c in v if claims is None or c in claims} for key, v in stored.items()}
    for result in results.values():
        for key in {*new, NO_INPUT} if not _reads_text(result) else {NO_INPUT}:
            for name in result.measured:
                new.get(key, {}).pop(name, None)
        key = input_key(result)
        values = new.get(key, {}) | {item.claim: item for item in result.measurements}
        new[key] = {c: v for c, v in values.items() if claims is None or _stays(c, claims, result)}
    return {key: dict(sorted(values.items())) for key, values in sorted(new.items()) if values}


def _stays(name: str, claims: Mapping[str, Claim], result: Result) -> bool:
    """Whether a number is that of a claim which its notebook measures."""
    claim = claims.get(name)
    return claim is not None and (name in result.measured or claim.notebook != result.notebook)


def _reads_text(result: Result) -> bool:
    return any(not name.startswith(RECORD) for name in result.key_parts["inputs"])


def read_baseline(path: Path) -> Entries:
    """The stored measurements, `{input key: {claim: measurement}}`; empty where there is no file
    yet.
    """
    if not path.is_file():
        return {}
    try:
        return {
            key: {name: Measurement.of(name, **fields) for name, fields in values.items()}
            for key, values in json.loads(path.read_text(encoding="utf-8-sig")).items()
        }
    except (AttributeError, TypeError) as error:  # of what is no object, or has other fields
        why = "each entry must hold a value and, if it is random, its stderr and replicates"
        raise WorkflowError(f"{path} cannot be read: {why}. Restore it from git.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise WorkflowError(f"{path} cannot be read: {error}. Restore it from git.") from error


def write_baseline(path: Path, values: Baselines) -> None:
    """Write the baselines as indented JSON, so that a diff in git shows each value on its line."""
    data = {
        key: {name: _fields(item) for name, item in items.items()} for key, items in values.items()
    }
    write_atomically(path, json.dumps(data, indent=1) + "\n")


def _fields(item: Measurement) -> dict[str, object]:
    names = ["value"] if item.exact else ["value", "stderr", "replicates"]
    return {name: item.to_json()[name] for name in names}


# How often a set of random numbers that have not moved may be called moved, all numbers of a
# profile taken together.
FALSE_ALARMS = 1e-3

# A number moved; its verdict is not the expected one; it was not measured; it is neither measured
# nor expected but has a baseline; it is measured but no claim; it has no baseline yet. Notes: a
# verdict changed although its number did not move; a notebook ran on a text for which nothing is
# stored.
Kind = Literal[
    "moved", "verdict", "missing", "dropped", "unknown", "new", "borderline", "not compared"
]
NOTES = ("borderline", "not compared")
UNMOVED = "borderline: the number has not moved"
UNMEASURED = "has a baseline but was not measured, nor is it expected: `--update` drops it"


@dataclass(frozen=True)
class Finding:
    """What a comparison has to say about one claim, or about a notebook (then `claim` is None)."""

    kind: Kind
    notebook: str
    claim: str | None
    text: str

    @property
    def fault(self) -> bool:
        """Whether it turns the build red."""
        return self.kind not in NOTES


def compare(
    results: Mapping[str, Result],
    judged: Mapping[str, JudgedClaim],
    stored: Baselines,
    profile: str,
) -> list[Finding]:
    """Every claim measured, no number moved, every verdict as its claim expects it. The findings
    come in the order of the notebooks; none: nothing has moved.

    An exact number may move within its band; a random one is compared with its baseline by Welch's
    test, at a level at which all random numbers of the profile together raise a false alarm once in
    a thousand runs. A verdict that is not the expected one although its number has not moved, and
    for whose baseline it is, is borderline: a note, no fault.

    Numbers that depend on an input text are stored under the hash of that text; for an unknown text
    only verdicts are checked. Of a run with parameters of its own, random numbers and verdicts are
    compared: another seed moves what is exact for one draw.
    """
    items = [item for result in results.values() for item in result.measurements]
    level = FALSE_ALARMS / max(1, sum(len(item.values) for item in items if not item.exact))
    runs = results.values()
    return [f for run in runs for f in _compare_run(run, judged, stored, profile, level)]


def _compare_run(
    result: Result, judged: Mapping[str, JudgedClaim], stored: Baselines, profile: str, level: float
) -> list[Finding]:
    """The findings on one run; `level` is that of each Welch test."""
    claims = {name: one.claim for name, one in judged.items()}
    findings = check_measured(result.notebook, profile, result.measured, claims)
    # a text may be the user's own and have no baseline; a notebook without inputs must have one
    known = stored.get(input_key(result), {} if input_key(result) == NO_INPUT else None)
    if known is None and result.measurements:
        text = (
            f"{result.notebook}: no baseline for its input ({input_key(result)[:12]}); only "
            "verdicts were checked"
        )
        findings.append(Finding("not compared", result.notebook, None, text))
    for item in result.measurements:
        if item.claim in judged:
            one, overridden = judged[item.claim], bool(result.overrides)
            findings += _compare_number(one, item, known, level, overridden=overridden)
    return findings + [
        Finding("dropped", result.notebook, name, f"{name}: {UNMEASURED}")
        for name in known or {}
        if name in claims and claims[name].notebook == result.notebook
        if name not in result.measured and not claims[name].measured_at(profile)
    ]


def _compare_number(
    one: JudgedClaim,
    item: Measurement,
    known: Mapping[str, Measurement] | None,
    level: float,
    *,
    overridden: bool,
) -> list[Finding]:
    """One number against its baseline, and its verdict against the expected one; `overridden`: the
    run had parameters of its own.
    """
    claim, verdict = one.claim, _unexpected(one)
    if known is None:
        return verdict
    old = known.get(claim.id)
    moved = drift(claim, item, old, level, overridden=overridden)
    compared = old is None or len(item.values) == len(old.values)
    compared &= not (item.exact and overridden)
    # the baseline as it would be judged today: an edited expectation is not a matter of luck
    if compared and not moved and judge(claim, one.profile, old).verdict == claim.expected_verdict:
        return [
            Finding("borderline", claim.notebook, claim.id, f"{finding.text}; {UNMOVED}")
            for finding in verdict
        ]
    return moved + verdict


def check_measured(
    notebook: str, profile: str, measured: Collection[str], claims: Mapping[str, Claim]
) -> list[Finding]:
    """Faults between the ids that a notebook measures and the claims that name it."""
    claimed = {claim.id for claim in claims.values() if claim.notebook == notebook}
    unknown = {
        name: f"{notebook} measures {name!r}, which is not a claim of this notebook."
        f"{nearest(name, claimed)} Add it to the claims in `book`."
        for name in sorted(set(measured) - claimed)
    }
    missing = {
        name: f"{notebook} does not measure the claim {name!r}, though a value is "
        f"expected at profile {profile}."
        for name in sorted(claimed - set(measured))
        if claims[name].measured_at(profile)
    }
    return [
        *(Finding("unknown", notebook, name, text) for name, text in unknown.items()),
        *(Finding("missing", notebook, name, text) for name, text in missing.items()),
    ]


def _unexpected(one: JudgedClaim) -> list[Finding]:
    expected = one.claim.expected_verdict
    if one.measurement is None or one.verdict in (expected, "exploratory"):
        return []
    bounds = one.expectation.bounds if one.expectation else ()
    ours = show(one.measurement, distinguish_from=bounds)
    return _of(one.claim, "verdict", f"verdict {one.verdict}, expected {expected} (ours {ours})")


def _of(claim: Claim, kind: Kind, line: str) -> list[Finding]:
    return [Finding(kind, claim.notebook, claim.id, f"{claim.id}: {line}")] if line else []


def drift(
    claim: Claim,
    item: Measurement,
    old: Measurement | None,
    level: float,
    *,
    overridden: bool = False,
) -> list[Finding]:
    """What moved against the baseline; nothing if it did not. `overridden`: the run had parameters
    of its own.
    """
    if old is None:
        return _of(claim, "new", f"no baseline yet (ours {show(item)})")
    if (count := len(item.values)) != len(old.values):
        moved = f"{count} values, the baseline has {len(old.values)}"
        return [] if overridden else _of(claim, "moved", moved)
    which = [f"value {n} of {count}: " if count > 1 else "" for n in range(1, count + 1)]
    random = [n for n in range(count) if old.errors[n] or item.errors[n]]
    # what one seed decides moves from processor to processor, and nobody knows how far
    exact = [] if overridden or claim.exploratory else sorted({*range(count)} - {*random})
    for n in exact:
        stored, number = old.values[n], item.values[n]
        width = claim.band.width(stored)
        if not stored - width <= number <= stored + width:
            moved = f"moved {abs(number - stored):.3g}, band ± {width:.3g}"
            text = f"{which[n]}baseline {stored:.10g}, now {number:.10g}, {moved}"
            return _of(claim, "moved", text)
    p_values = welch(old, item)
    p_value, index = min(((p_values[n], n) for n in random), default=(1.0, 0))
    if p_value >= level:
        return []
    before, now = (f"{m.values[index]:.10g} ± {m.errors[index]:.3g}" for m in (old, item))
    test = f"Welch's test gives p = {p_value:.2g}, below {level:.2g}"
    return _of(claim, "moved", f"{which[index]}baseline {before}, now {now}: {test}")


def welch(one: Measurement, other: Measurement) -> tuple[float, ...]:
    """p-values of Welch's test, two-sided: how often two samples of one mean lie as far apart, for
    each value.

    At least one of the two has standard errors; the degrees of freedom are those of Welch and
    Satterthwaite.
    """
    triples = zip(one.values, one.errors, other.values, other.errors, strict=True)
    return tuple(_p_value(a, s, one, b, t, other) for a, s, b, t in triples)


def _p_value(a: float, s: float, one: Measurement, b: float, t: float, other: Measurement) -> float:
    from scipy.special import stdtr

    error = hypot(s, t)
    if not error:
        return float(a == b)
    # relative to the joint error: the squares of errors may be too small for a float
    parts = [((e / error) ** 4, m.degrees_of_freedom) for e, m in ((s, one), (t, other)) if e]
    freedom = 1 / sum(part / degrees for part, degrees in parts)
    return float(2 * stdtr(freedom, -abs(a - b) / error))
