"""What made a number: versions, hardware, date; and what is installed, by content: a library that
was edited in place moves numbers as well as another version does.
"""

import base64
import contextlib
import csv
import datetime
import hashlib
import json
import os
import platform
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import psutil

from ntpcompanion.workflow.base.files import canonical_json, sha256
from ntpcompanion.workflow.base.processes import run
from ntpcompanion.workflow.base.tracing import state_of

# seconds that an installer may take to write the files of a distribution
INSTALLING = 600


class Hardware(TypedDict):
    """A machine: memory in GiB; `gpu` only where there is one."""

    system: str
    machine: str
    processor: str
    cores: int
    memory_gib: int
    gpu: NotRequired[str]


@cache
def library_versions(libraries: tuple[str, ...]) -> dict[str, str]:
    """Versions of those of the `libraries` that are installed: the ones that can move a number or
    a line of a figure, as the settings of the book name them.
    """
    installed = {}
    for name in libraries:
        with contextlib.suppress(PackageNotFoundError):
            installed[name] = version(name)
    return installed


def python_minor() -> str:
    """`"3.11"`: patch releases do not invalidate results."""
    return ".".join(platform.python_version_tuple()[:2])


def versions(libraries: tuple[str, ...]) -> dict[str, str]:
    """Python and the installed ones of the `libraries`, for the reader."""
    return {"python": platform.python_version(), **library_versions(libraries)}


def usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def hardware() -> Hardware:
    """Processor, cores this process may use, memory and the accelerator, if one is there."""
    machine: Hardware = {
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": usable_cores(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
    }
    if gpu := _gpu():
        machine["gpu"] = gpu
    return machine


def hardware_line(hardware: Hardware) -> str:
    gpu = f", {hardware['gpu']}" if "gpu" in hardware else ""
    return f"{hardware['processor']}, {hardware['cores']} cores{gpu}"


def now() -> str:
    """The time in UTC, to the second, in ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _gpu() -> str | None:
    # nvidia-smi rather than torch: the runner must not import torch to print a line
    try:
        answer = run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], limit=10)
    except OSError:  # a TimeoutError is one
        return None
    return (
        answer.output.splitlines()[0].strip() if not answer.code and answer.output.strip() else None
    )


def library_states(names: Iterable[str]) -> dict[str, str]:
    """For each of the distributions that is installed a digest of its files: those that its
    installer has written down, and what has been changed since.
    """
    return {name: state for name in sorted(set(names)) if (state := _state(name))}


@cache
def _state(name: str) -> str:
    try:
        distribution = metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):
        return ""
    # not `distribution.files`: to make paths of the lines of torch takes a second
    lines = [
        tuple(line) for line in csv.reader((distribution.read_text("RECORD") or "").splitlines())
    ]
    files = sorted(line for line in lines if len(line) == 3 and _counts(line[0]))
    written = [line[:2] for line in files]
    return sha256(canonical_json([distribution.version, written, _edited(distribution, files)]))[
        :16
    ]


def _counts(file: str) -> bool:
    # scripts name the interpreter, compiled copies and notes of the installer the day
    return not file.startswith("..") and not any(
        part == "__pycache__" or part.endswith(".dist-info") for part in file.split("/")
    )


def _edited(distribution: Any, files: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """The files whose content is not the one that was installed, as far as can be seen by their
    sizes and dates: only those with another size or a later date than the installation are read.
    """
    above = str(distribution.locate_file(""))
    try:
        installed = os.stat(str(getattr(distribution, "_path", "")) + "/RECORD").st_mtime
    except OSError:  # not installed by a wheel
        return {}
    edited = {}
    for file, digest, size in files:
        path = os.path.join(above, file)
        try:
            state = os.stat(path)
        except OSError:
            edited[file] = "missing"
            continue
        if size != str(state.st_size) or state.st_mtime > installed + INSTALLING:
            kind, _, expected = digest.partition("=")
            if not kind or _record_hash(path, kind) != expected:
                edited[file] = state_of(Path(path))
    return edited


def _record_hash(path: str, kind: str) -> str:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, kind).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@cache
def owners() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


def distributions_of(modules: Iterable[str]) -> set[str]:
    """The installed distributions that bring some modules, named by the first parts."""
    return {owner for name in modules for owner in owners().get(name, [])}


def editable_folders() -> list[str]:
    notes = [path for place in map(Path, sys.path) for path in place.glob("*-info/direct_url.json")]
    contents = [json.loads(path.read_text(encoding="utf-8")) for path in notes]
    return [
        urllib.request.url2pathname(urllib.parse.urlparse(note["url"]).path)
        for note in contents
        if note.get("dir_info", {}).get("editable")
    ]


def installed_packages() -> list[str]:
    """Names and versions of all packages, as the folders that describe them are called: to read
    them takes half a second.
    """
    folders = [Path(place) for place in sys.path if place]
    return sorted({path.name for place in folders for path in place.glob("*.*-info")})
