"""The values of claims over builds and machines: one small sealed file for each build in
`book/history/`.
"""

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
from ntpcompanion.workflow.base.git import git, holds_project
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import hardware_line
from ntpcompanion.workflow.claims.claims import Claim
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.claims.verdict import judged_claims
from ntpcompanion.workflow.running.results import Result

SCHEMA = 1


@dataclass(frozen=True)
class Build:
    """One build on one machine.

    Fields
    ------
    date
        when the first of its notebooks was started, ISO 8601 in UTC.
    commit
        of the sources, with `+` where files differed from it; empty where git does not know.
    machine, versions
        in words, and of Python and the numeric libraries.
    profile
        book or paper.
    measurements, verdicts
        by the id of the claim.
    """

    date: str
    commit: str
    machine: str
    versions: dict[str, str]
    profile: str
    measurements: dict[str, Measurement]
    verdicts: dict[str, str]


def build_of(
    results: Mapping[str, Result], claims: Mapping[str, Claim], profile: str, commit: str
) -> Build:
    """What a history keeps of the stored runs of a profile.

    Raises WorkflowError for smoke runs, whose numbers are not results, for runs of another profile
    or with parameters of their own, and for runs on several machines.
    """
    if profile == "smoke":
        raise WorkflowError(
            "The smoke profile tests the machinery: its numbers are not results, and no history is "
            "kept of them. Use `--profile book`."
        )
    for name, result in results.items():
        if result.profile != profile or result.overrides:
            raise WorkflowError(
                f"The stored run of {name!r} is of profile {result.profile!r} with `-p` "
                f"{result.overrides}: a history of {profile!r} holds that profile's own numbers. "
                f"Run `ntpcompanion execute {name} --profile {profile}`."
            )
    machines = {hardware_line(result.hardware) for result in results.values()}
    versions = {canonical_json(result.versions) for result in results.values()}
    if len(machines) != 1 or len(versions) != 1:
        raise WorkflowError(
            f"The stored runs are of {len(machines)} machines and {len(versions)} sets of "
            "versions: an entry of the history is of one. Run `ntpcompanion execute --force` first."
        )
    items = {item.claim: item for result in results.values() for item in result.measurements}
    judged = judged_claims(claims, items.values(), profile)
    return Build(
        date=min(result.started for result in results.values()),
        commit=commit,
        machine=machines.pop(),
        versions=next(iter(results.values())).versions,
        profile=profile,
        measurements=items,
        verdicts={name: judged[name].verdict for name in items},
    )


def append_build(project: Project, build: Build) -> Path | None:
    """Write the build into a file of its own; return it, or None if the history ends in the same
    values of the same machine and commit. Raises WorkflowError as `read_history`.
    """
    data = _to_json(build)
    known = [_to_json(old) for old in read_history(project)]
    if any(_numbers(old) == _numbers(data) for old in known):
        return None
    sealed = {**data, "checksum": checksum(data)}
    digest = sha256(canonical_json(sealed))[:8]
    path = folder(project) / f"{build.date[:10]}-{build.profile}-{digest}.json"
    write_atomically(path, _lines(sealed))
    return path


def read_history(project: Project) -> list[Build]:
    """All builds, the oldest first. Raises WorkflowError naming a file that is damaged, or of
    another form.
    """
    builds = [_from_json(path) for path in sorted(folder(project).glob("*.json"))]
    return sorted(builds, key=lambda build: (build.date, build.machine))


def folder(project: Project) -> Path:
    """Where the history is kept."""
    return project.book / "history"


def present_commit(project: Project) -> str:
    """The commit of the checkout, with `+` where a tracked file differs; empty without git, and
    where the repository does not hold this project.
    """
    if shutil.which("git") is None or not holds_project(project.root):
        return ""
    head = git(project.root, "rev-parse", "--short=12", "HEAD").output.strip()
    changed = git(project.root, "diff", "--quiet", "HEAD").code
    return head + ("+" if changed else "")


def _numbers(data: Mapping[str, Any]) -> list[object]:
    return [data["commit"], data["machine"], data["versions"], data["profile"], data["claims"]]


def _to_json(build: Build) -> dict[str, Any]:
    data = {key: value for key, value in asdict(build).items() if not isinstance(value, dict)}
    claims = {
        name: _entry(item, build.verdicts[name])
        for name, item in sorted(build.measurements.items())
    }
    return {"schema": SCHEMA, **data, "versions": build.versions, "claims": claims}


def _entry(item: Measurement, verdict: str) -> list[object]:
    data = item.to_json()
    return [data["value"], data["stderr"], data["replicates"], verdict]


def _from_json(path: Path) -> Build:
    data = read_sealed(path)
    wanted = {*_to_json(Build("", "", "", {}, "", {}, {})), "checksum"}
    if data.get("schema") != SCHEMA or set(data) != wanted:
        raise WorkflowError(
            f"{path} is not an entry of the history of schema {SCHEMA}. Restore it from git, or "
            "remove it."
        )
    try:
        items = {
            name: Measurement.of(name, value, stderr=stderr, replicates=replicates)
            for name, (value, stderr, replicates, _) in data["claims"].items()
        }
        verdicts = {name: str(entry[3]) for name, entry in data["claims"].items()}
    except (TypeError, ValueError, AttributeError) as error:
        raise WorkflowError(f"{path}: {error} Restore it from git, or remove it.") from error
    head = {key: data[key] for key in ("date", "commit", "machine", "versions", "profile")}
    return Build(**head, measurements=items, verdicts=verdicts)


def _lines(data: Mapping[str, Any]) -> str:
    """Compact JSON with a line for each claim, so that git shows what moved."""
    head = {key: value for key, value in data.items() if key != "claims"}
    claims = ",\n".join(
        f" {canonical_json(name)}: {canonical_json(entry)}"
        for name, entry in data["claims"].items()
    )
    return f'{canonical_json(head)[:-1]},"claims":{{\n{claims}\n}}}}\n'
