"""The values of claims over builds and machines: one small sealed file for each build in
`book/history/`.
"""

import os
import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import (
    canonical_json,
    checksum,
    read_sealed,
    sha256,
    write_atomically,
)
from ntpcompanion.workflow.base.processes import run
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware_line
from ntpcompanion.workflow.claims.claims import Claim
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.running.results import Result

SCHEMA = 1
# where the user's own settings of git lie, and how far up it looks for a repository
SETTINGS = {
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
}  # fmt: skip


def entry_of(
    results: Mapping[str, Result], claims: Mapping[str, Claim], profile: str, commit: str
) -> dict[str, Any]:
    """What a history keeps of the stored runs of a profile, which were made at a `commit`, as JSON:
    of each claim the value, error, replicates and verdict.
    """
    if profile == "smoke":
        raise WorkflowError(
            "The smoke profile tests the machinery: its numbers are not results, and no history is "
            "kept of them. Use `--profile book`."
        )
    machines = {hardware_line(result.hardware) for result in results.values()}
    versions = {canonical_json(result.versions) for result in results.values()}
    if len(machines) != 1 or len(versions) != 1:
        raise WorkflowError(
            f"The stored runs are of {len(machines)} machines and {len(versions)} sets of "
            "versions: an entry of the history is of one. Run `ntpcompanion execute --force` first."
        )
    items = [item for result in results.values() for item in result.measurements]
    judged = judged_claims(claims, items, profile)
    numbers = {item.claim: item.to_json() for item in items}
    return {
        "schema": SCHEMA,
        "date": min(result.started for result in results.values()),
        "commit": commit,
        "machine": machines.pop(),
        "profile": profile,
        "versions": next(iter(results.values())).versions,
        "claims": {
            name: [data["value"], data["stderr"], data["replicates"], judged[name].verdict]
            for name, data in sorted(numbers.items())
        },
    }


def append_entry(project: Project, entry: Mapping[str, Any]) -> Path | None:
    """Write an entry into a file of its own; return it, or None if there is one with the same
    values of the same machine and commit.
    """
    folder = project.book / "history"
    if any(_numbers(read_sealed(path)) == _numbers(entry) for path in folder.glob("*.json")):
        return None
    sealed = {**entry, "checksum": checksum(entry)}
    digest = sha256(canonical_json(sealed))[:8]
    path = folder / f"{entry['date'][:10]}-{entry['profile']}-{digest}.json"
    write_atomically(path, _lines(sealed))
    return path


def present_commit(project: Project) -> str:
    """The commit of the checkout, with `+` where a tracked file differs; empty without git, and
    where the repository does not hold this project: another one may lie above it.
    """
    # what a hook or a shell may have set for another repository does not count
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in SETTINGS}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}
    git = partial(run, environment=environment, folder=project.root, limit=60)
    if shutil.which("git") is None or git(["git", "cat-file", "-e", "HEAD:./_config.yml"]).code:
        return ""
    head = git(["git", "rev-parse", "--short=12", "HEAD"]).output.strip()
    return head + ("+" if git(["git", "diff", "--quiet", "HEAD"]).code else "")


def _numbers(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in entry if name not in ("date", "checksum")}


def _lines(data: Mapping[str, Any]) -> str:
    """Compact JSON with a line for each claim, so that git shows what moved."""
    head = {key: value for key, value in data.items() if key != "claims"}
    claims = ",\n".join(
        f" {canonical_json(name)}: {canonical_json(entry)}"
        for name, entry in data["claims"].items()
    )
    return f'{canonical_json(head)[:-1]},"claims":{{\n{claims}\n}}}}\n'
