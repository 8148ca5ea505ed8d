"""Notebook regression: measured values against those stored in `tests/baselines`, verdicts against
those expected.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from ntpcompanion.workflow.base.errors import WorkflowError, nearest
from ntpcompanion.workflow.base.files import canonical_json, sha256, write_atomically
from ntpcompanion.workflow.claims.claims import Claim, judge
from ntpcompanion.workflow.claims.formatting import show
from ntpcompanion.workflow.claims.intervals import welch
from ntpcompanion.workflow.claims.measurement import Measurement

NO_INPUT = "-"
RECORD = "record "  # with a name: an input that is a record
Baselines = Mapping[str, Mapping[str, Measurement]]  # by the key of the input, by claim
Entries = dict[str, dict[str, Measurement]]  # the same, to be written

# How often a set of random numbers that have not moved may be called moved, all numbers of a
# profile taken together.
FALSE_ALARMS = 1e-3


@runtime_checkable
class Run(Protocol):
    """What a comparison reads of a stored run."""

    @property
    def notebook(self) -> str:
        """The name of the notebook."""

    @property
    def overrides(self) -> Mapping[str, object]:
        """The parameters that were given with `-p`."""

    @property
    def measurements(self) -> Sequence[Measurement]:
        """What it measured."""

    @property
    def key_parts(self) -> Mapping[str, Any]:
        """What decided its numbers; `inputs` are the hashes of the files it was given."""

    @property
    def measured(self) -> set[str]:
        """The ids of the claims it measured."""


@dataclass(frozen=True)
class Comparison:
    """`faults` turn the build red; `notes` say what could not be compared, and which verdicts are
    borderline.
    """

    faults: list[str]
    notes: list[str]

    def __add__(self, other: "Comparison") -> "Comparison":
        return Comparison(self.faults + other.faults, self.notes + other.notes)


def compare(
    results: Mapping[str, Run], claims: Mapping[str, Claim], stored: Baselines, profile: str
) -> Comparison:
    """Every claim measured, no number moved, every verdict as `claims.yml` expects it.

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
    found = Comparison([], [])
    for result in results.values():
        found = found + _compare_run(result, claims, stored, profile, level)
    return found


def _compare_run(
    result: Run, claims: Mapping[str, Claim], stored: Baselines, profile: str, level: float
) -> Comparison:
    """The comparison of one run; `level` is that of each Welch test."""
    faults = check_measured(result.notebook, profile, result.measured, claims)
    notes: list[str] = []
    # a text may be the user's own and have no baseline; a notebook without inputs must have one
    known = stored.get(input_key(result), {} if input_key(result) == NO_INPUT else None)
    if known is None and result.measurements:
        notes.append(
            f"{result.notebook}: no baseline for its input ({input_key(result)[:12]}); only "
            "verdicts were checked"
        )
    found = Comparison(faults, notes)
    for item in result.measurements:
        if claim := claims.get(item.claim):
            own = bool(result.overrides)
            found = found + _compare_number(claim, item, known, level, profile, own=own)
    missing = [
        f"{name}: has a baseline but was not measured"
        for name in known or {}
        if name in claims and claims[name].notebook == result.notebook
        if name not in result.measured
    ]
    return found + Comparison(missing, [])


def _compare_number(
    claim: Claim,
    item: Measurement,
    known: Mapping[str, Measurement] | None,
    level: float,
    profile: str,
    *,
    own: bool,
) -> Comparison:
    """One number against its baseline, and its verdict against the expected one; `own`: the run had
    parameters of its own.
    """
    verdict = _unexpected(claim, item, profile)
    if known is None:
        return Comparison(verdict, [])
    moved = drift(claim, item, known, level, own=own)
    compared = not (item.exact and own)
    if compared and not moved and _as_expected(claim, known.get(claim.id), profile):
        lines = [f"{line}; borderline: the number has not moved" for line in verdict]
        return Comparison([], lines)
    return Comparison(moved + verdict, [])


def check_measured(
    notebook: str, profile: str, measured: Collection[str], claims: Mapping[str, Claim]
) -> list[str]:
    """Faults between the ids that a notebook measures and the claims that name it."""
    own = {claim.id for claim in claims.values() if claim.notebook == notebook}
    unknown = [
        f"{notebook} measures {name!r}, which is no claim of this notebook.{nearest(name, own)} "
        "Add it to book/claims.yml."
        for name in sorted(set(measured) - own)
    ]
    missing = [name for name in sorted(own - set(measured)) if claims[name].measured_at(profile)]
    return unknown + [
        f"{notebook} does not measure the claim {name!r}, though claims.yml expects a value at "
        f"profile {profile}."
        for name in missing
    ]


def _unexpected(claim: Claim, item: Measurement, profile: str) -> list[str]:
    judgement = judge(claim, profile, item)
    if judgement.verdict in (claim.expected_verdict, "not measured", "exploratory"):
        return []
    bounds = judgement.expectation.bounds if judgement.expectation else ()
    ours = show(item, apart_from=bounds)
    return [
        f"{claim.id}: verdict {judgement.verdict}, expected {claim.expected_verdict} (ours {ours})"
    ]


def _as_expected(claim: Claim, stored: Measurement | None, profile: str) -> bool:
    """Whether the baseline itself still has the expected verdict: an edited expectation is no
    matter of luck.
    """
    return stored is not None and judge(claim, profile, stored).verdict == claim.expected_verdict


def drift(
    claim: Claim,
    item: Measurement,
    known: Mapping[str, Measurement],
    level: float,
    *,
    own: bool = False,
) -> list[str]:
    """What moved against the baseline, in a line; nothing if it did not. `own`: the run had
    parameters of its own.
    """
    if claim.id not in known:
        accept = "accept it with `ntpcompanion check --update`"
        return [f"{claim.id}: no baseline yet (ours {show(item)}); {accept}"]
    old = known[claim.id]
    if len(old.values) != len(item.values):
        moved = f"{claim.id}: {len(item.values)} values, the baseline has {len(old.values)}"
        return [] if own else [moved]
    if item.exact and old.exact:
        # what one seed decides moves from processor to processor, and nobody knows how far
        return [] if own or claim.exploratory else _exact_drift(claim, old, item)
    least, p_value = min(enumerate(welch(old, item)), key=lambda pair: pair[1])
    if p_value >= level:
        return []
    numbers = " and ".join(f"{m.values[least]:.10g} ± {m.errors[least]:.3g}" for m in (old, item))
    return [
        f"{claim.id}: baseline and now {numbers}: Welch's test gives p = {p_value:.2g}, "
        f"below {level:.2g}"
    ]


def _exact_drift(claim: Claim, old: Measurement, new: Measurement) -> list[str]:
    moved = [
        (o, n)
        for o, n in zip(old.values, new.values, strict=True)
        if abs(n - o) > claim.band.width(o)
    ]
    return [
        f"{claim.id}: baseline {o:.10g}, now {n:.10g}, moved {abs(n - o):.3g}, band ± "
        f"{claim.band.width(o):.3g}"
        for o, n in moved[:1]
    ]


def input_key(result: Run) -> str:
    """`NO_INPUT` for a notebook without inputs, else one hash of them all: the value of a claim
    depends on the text it was measured on.
    """
    inputs = result.key_parts["inputs"]
    return sha256(canonical_json(inputs)) if inputs else NO_INPUT


def updated(
    stored: Baselines, results: Mapping[str, Run], claims: Collection[str] | None = None
) -> Entries:
    """The baselines with the present values put in; those of other texts and of notebooks that were
    not run are kept, those of records that were made anew are dropped, and so are those of claims
    that are not among `claims` (None: all are kept).

    A text may differ between versions of Python, so values of another text stay. Records are the
    same for everybody: of a notebook that reads no text, only the present values are kept.
    """
    new = {key: {c: v[c] for c in v if claims is None or c in claims} for key, v in stored.items()}
    for result in results.values():
        for key in {*new, NO_INPUT} if not _reads_text(result) else {NO_INPUT}:
            for name in result.measured:
                new.get(key, {}).pop(name, None)
        values = new.setdefault(input_key(result), {})
        values.update({item.claim: item for item in result.measurements})
    return {key: dict(sorted(values.items())) for key, values in sorted(new.items()) if values}


def _reads_text(result: Run) -> bool:
    return any(not name.startswith(RECORD) for name in result.key_parts["inputs"])


def read_baseline(path: Path) -> Entries:
    """The stored measurements, `{input key: {claim: measurement}}`; empty where there is no file
    yet. Raises WorkflowError for a file that cannot be read.
    """
    if not path.is_file():
        return {}
    try:
        return _baselines(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise WorkflowError(f"{path} cannot be read: {error}. Restore it from git.") from error


def write_baseline(path: Path, values: Baselines) -> None:
    """Write the baselines as indented JSON, so that a diff in git shows each value on its line."""
    data = {
        key: {name: _fields(item) for name, item in items.items()} for key, items in values.items()
    }
    write_atomically(path, json.dumps(data, indent=1) + "\n")


def _baselines(data: object) -> Entries:
    if not isinstance(data, dict) or not all(isinstance(values, dict) for values in data.values()):
        raise ValueError("it must hold an object of objects")
    return {
        key: {name: _stored(name, fields) for name, fields in values.items()}
        for key, values in data.items()
    }


def _stored(claim: str, fields: object) -> Measurement:
    if (
        not isinstance(fields, dict)
        or not fields.keys() <= {"value", "stderr", "replicates"}
        or "value" not in fields
    ):
        raise ValueError(
            f"the entry {claim!r} must hold a value and, if it is random, its stderr and "
            f"replicates, got {fields!r:.80}"
        )
    return Measurement.of(claim, **fields)


def _fields(item: Measurement) -> dict[str, object]:
    data = item.to_json()
    return {
        name: data[name]
        for name in (["value"] if item.exact else ["value", "stderr", "replicates"])
    }
