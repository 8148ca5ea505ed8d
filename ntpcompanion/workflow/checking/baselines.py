"""The stored values of claims, in `tests/baselines`: read, written, and brought up to date."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256, write_atomically
from ntpcompanion.workflow.claims.measurement import Measurement
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
    stored: Baselines, results: Mapping[str, Result], claims: Collection[str] | None = None
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


def _reads_text(result: Result) -> bool:
    return any(not name.startswith(RECORD) for name in result.key_parts["inputs"])


def read_baseline(path: Path) -> Entries:
    """The stored measurements, `{input key: {claim: measurement}}`; empty where there is no file
    yet. Raises WorkflowError for a file that cannot be read.
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
