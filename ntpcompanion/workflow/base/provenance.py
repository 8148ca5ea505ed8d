"""What made a number: versions, hardware, date."""

import contextlib
import datetime
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NotRequired, TypedDict

import psutil

from ntpcompanion.workflow.base.processes import run


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
    """The cores that this process may use."""
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
    """The hardware in a few words."""
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
