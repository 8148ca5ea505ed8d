"""What a build starts from: whether it is as it was when the build began, and the quick end of a
build that has nothing to do.

What a build starts from, what its runs read elsewhere and what it made are compared by content with
a note of the last build: to find that out run by run and page by page takes ten times as long.
"""

import contextlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ntpcompanion.workflow.base.environment import named
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import (
    canonical_json,
    digest_of,
    files_below,
    read_sealed,
    sha256,
    write_sealed,
)
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import installed_packages, library_states
from ntpcompanion.workflow.base.tracing import state_of
from ntpcompanion.workflow.running.freshness import (
    FILES_READ,
    LIBRARIES_USED,
    KeyParts,
    input_files,
)
from ntpcompanion.workflow.running.layout import listed_files, package_data
from ntpcompanion.workflow.running.results import Result
from ntpcompanion.workflow.running.runs import Run, stale_reasons
from ntpcompanion.workflow.site.render import doctrees
from ntpcompanion.workflow.site.sphinx_extension import included_files


def stamps(project: Project) -> dict[str, tuple[int, ...]]:
    """For each file that a build starts from what tells one state of it from any other, also from
    one that has the same content again: the file itself, its size, and when it was last written.
    """
    states: dict[str, tuple[int, ...]] = {}
    for path in source_files(project):
        with contextlib.suppress(FileNotFoundError):
            status = path.stat()
            file = (status.st_dev, status.st_ino, status.st_size)
            states[str(path)] = (*file, status.st_mtime_ns, status.st_ctime_ns)
    return states


def changes(project: Project, before: Mapping[str, object], runs: Sequence[Run]) -> list[str]:
    """A sentence for each file that a build starts from and that was written since the stamps
    `before`, and for each run that does not answer for its inputs any more.
    """
    now = stamps(project)
    written = [path for path in {**before, **now} if before.get(path) != now.get(path)]
    faults = [f"{path} was written while the book was built" for path in sorted(written)]
    for run in runs:
        reasons = [] if written else stale_reasons(run)
        faults += [f"{run.notebook.name}: {reason} while the book was built" for reason in reasons]
    return [*faults, "Build it again, from sources that stay as they are."] if faults else []


def source_files(project: Project) -> list[Path]:
    """The files that a build starts from: book, notebooks, settings, modules of the packages.

    What else lies beside these is an input of a run, or nothing to a page.
    """
    modules = [
        path
        for folder in project.packages
        for path in files_below(folder)
        if path.suffix in (".py", ".pyi")
    ]
    running = files_below(Path(__file__).resolve().parents[2])  # its styles and scripts, too
    settings = [project.root / name for name in ("_config.yml", "pyproject.toml")]
    chapters = project.runs("book")
    pages = [path for path in files_below(project.book) if not path.is_relative_to(chapters)]
    files = [*settings, *files_below(project.notebooks), *modules, *running, *pages]
    # what is hidden is that of an editor or of the system
    return [
        path for path in files if "__pycache__" not in path.parts and not path.name.startswith(".")
    ]


def sources_digest(project: Project) -> str:
    """One hash over all that a build starts from: its files, Python, the installed packages and
    libraries, and the variables that the settings name.
    """
    sources = digest_of(source_files(project))
    python = [sys.version, sys.prefix, installed_packages()]
    libraries = library_states(project.settings.libraries)
    variables = sorted((name, sha256(value)) for name, value in named(project).items())
    return sha256(canonical_json([sources, python, libraries, variables]))


def is_unchanged(project: Project, profile: str, sources: str) -> bool:
    """Whether a build of a profile would leave all as it is: the sources have the digest that they
    had before the last one, and everything that it read or made is as it left it.
    """
    try:
        last = read_sealed(_note(project, profile))
    except WorkflowError:  # there is none, or it is damaged
        return False
    if last["sources"] != sources or last["read"] != _hashes(last["read"]):
        return False
    if last["beside"] != _beside(project, last["modules"], last["libraries"]):
        return False
    return bool(last["made"] == _made_digest(project, profile))


def remember(project: Project, profile: str, runs: Sequence[Run], sources: str) -> None:
    """Note what a build has read and made; `sources` is their digest before it began. If they have
    changed since, or what the runs have read has, nothing is noted, and the next build looks at
    everything.
    """
    note = _note(project, profile)
    note.unlink(missing_ok=True)
    stored = [(run, Result.load(run.results).key_parts) for run in runs]
    paths = {
        str(project.root / name) for run, parts in stored for name in _read_elsewhere(run, parts)
    }
    included = included_files(doctrees(project.html(profile)))
    read, made = _hashes(sorted(paths)) | included, _made_digest(project, profile)
    modules, libraries = (
        sorted({name for _, parts in stored for name in parts[part]})
        for part in ("package source", LIBRARIES_USED)
    )
    beside = _beside(project, modules, libraries)
    # after their hashes: else one could be noted that no run has seen
    if sources_digest(project) == sources and not any(map(stale_reasons, runs)):
        rests = {"modules": modules, "libraries": libraries, "beside": beside}
        write_sealed(note, {"sources": sources, "read": read, "made": made, **rests})


def _read_elsewhere(run: Run, parts: KeyParts) -> list[str | Path]:
    """The inputs and declared files of a stored run, and what it was seen to read besides."""
    inputs = input_files(run.project, run.notebook, run.parameters).values()
    listed = listed_files(run.project, run.notebook).values()
    return [*inputs, *listed, *parts[FILES_READ]]


def _beside(project: Project, modules: Sequence[str], libraries: Sequence[str]) -> str:
    """One hash over the data that lie beside modules of the packages, and the libraries that runs
    were seen to use.
    """
    return sha256(canonical_json([package_data(project, modules), library_states(libraries)]))


def _made_digest(project: Project, profile: str) -> str:
    sites = [project.html(profile), project.staged(profile)]
    return digest_of([*sites, project.runs(profile)])


def _hashes(paths: Iterable[str]) -> dict[str, str]:
    return {
        path: digest_of([Path(path)]) if Path(path).is_dir() else state_of(Path(path))
        for path in paths
    }


def _note(project: Project, profile: str) -> Path:
    return doctrees(project.html(profile)).parents[1] / "unchanged.json"
