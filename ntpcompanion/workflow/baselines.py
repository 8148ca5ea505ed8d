"""Notebook regression: measured values against those stored in `tests/baselines`, verdicts against those expected."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ntpcompanion.workflow import cards
from ntpcompanion.workflow.claims import Claim, judge
from ntpcompanion.workflow.errors import WorkflowError, nearest
from ntpcompanion.workflow.files import canonical_json, sha256, write_atomically
from ntpcompanion.workflow.results import Result

NO_INPUT = "-"


@dataclass(frozen=True)
class Comparison:
    """`faults` turn the build red; `notes` say what could not be compared."""

    faults: list[str]
    notes: list[str]


def compare(results: Mapping[str, Result], claims: Mapping[str, Claim], stored: Mapping[str, dict], profile: str) -> Comparison:
    """Every claim measured, every value within its band of the baseline, every verdict as `claims.yml` expects it.

    Values that depend on an input text are stored under the hash of that text; for an unknown text only verdicts are checked.
    """
    faults: list[str] = []
    notes: list[str] = []
    for result in results.values():
        # a text may be the user's own and have no baseline; a notebook without inputs must have one
        known = stored.get(input_key(result), {} if input_key(result) == NO_INPUT else None)
        if known is None and result.measurements:
            notes.append(f"{result.notebook}: no baseline for its input ({input_key(result)[:12]}); only verdicts were checked")
        faults += check_measured(result.notebook, profile, result.measured, claims)
        for item in result.measurements:
            if claim := claims.get(item["id"]):
                faults += _unexpected(claim, item, profile) + (_drift(claim, item, known) if known is not None else [])
        own = (name for name in known or {} if name in claims and claims[name].notebook == result.notebook)
        faults += [f"{name}: has a baseline but was not measured" for name in own if name not in result.measured]
    return Comparison(faults, notes)


def check_measured(notebook: str, profile: str, measured: Collection[str], claims: Mapping[str, Claim]) -> list[str]:
    """Faults between the ids that a notebook measures and the claims that name it."""
    own = {claim.id for claim in claims.values() if claim.notebook == notebook}
    unknown = [
        f"{notebook} measures {name!r}, which is no claim of this notebook.{nearest(name, own)} Add it to book/claims.yml."
        for name in sorted(set(measured) - own)
    ]
    missing = [name for name in sorted(own - set(measured)) if profile in claims[name].expect]
    return unknown + [
        f"{notebook} does not measure the claim {name!r}, though claims.yml expects a value at profile {profile}." for name in missing
    ]


def _unexpected(claim: Claim, item: dict, profile: str) -> list[str]:
    verdict = judge(claim, profile, item).verdict
    if verdict in (claim.expected_verdict, "not measured"):
        return []
    return [f"{claim.id}: verdict {verdict}, expected {claim.expected_verdict} (ours {cards.show(item)})"]


def _drift(claim: Claim, item: dict, known: Mapping[str, dict]) -> list[str]:
    if claim.id not in known:
        return [f"{claim.id}: no baseline yet (ours {cards.show(item)}); accept it with `ntpcompanion check --update`"]
    old, new = _list(known[claim.id]["value"]), _list(item["value"])
    if len(old) != len(new):
        return [f"{claim.id}: {len(new)} values, the baseline has {len(old)}"]
    moved = [(o, n) for o, n in zip(old, new, strict=True) if abs(n - o) > claim.band.width(o)]
    return [f"{claim.id}: baseline {o:.10g}, now {n:.10g}, moved {abs(n - o):.3g}, band ± {claim.band.width(o):.3g}" for o, n in moved[:1]]


def _list(value: float | list) -> list:
    return value if isinstance(value, list) else [value]


def input_key(result: Result) -> str:
    """`NO_INPUT` for a notebook without inputs, else one hash of them all: the value of a claim depends on the text it was measured on."""
    inputs = result.key_parts["inputs"]
    return sha256(canonical_json(inputs)) if inputs else NO_INPUT


def updated(stored: Mapping[str, dict], results: Mapping[str, Result]) -> dict[str, dict]:
    """The baselines with the present values put in; those of other texts and of notebooks that were not run are kept."""
    new = {key: dict(values) for key, values in stored.items()}
    for result in results.values():
        values = new.setdefault(input_key(result), {})
        values.update({item["id"]: {"value": item["value"]} for item in result.measurements})
    return {key: dict(sorted(values.items())) for key, values in sorted(new.items()) if values}


def read_baseline(path: Path) -> dict[str, dict]:
    """The stored values, `{input key: {claim: {"value": ...}}}`; empty where there is no file yet."""
    if not path.is_file():
        return {}
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise WorkflowError(f"{path} is not JSON ({error}). Restore it from git.") from error
    if not isinstance(values, dict) or not all(isinstance(entries, dict) for entries in values.values()):
        raise WorkflowError(f"{path} must hold an object, got {type(values).__name__}. Restore it from git.")
    return values


def write_baseline(path: Path, values: Mapping[str, dict]) -> None:
    """Write the baselines as indented JSON, so that a diff in git shows each value on its line."""
    write_atomically(path, json.dumps(values, indent=1) + "\n")
